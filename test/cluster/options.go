//go:build linux

package cluster

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Level is how much of a cluster to bring up. All have what the first has.
type Level string

const (
	// ControlPlane has no nodes: objects are made and judged, and pods stay Pending. It
	// does not need root.
	ControlPlane Level = "control-plane"
	// Pods has nodes that run pods. It needs root.
	Pods Level = "pods"
	// Scale has many nodes that are mere objects. A simulator plays what becomes of their pods.
	Scale Level = "scale"
)

var levels = []Level{ControlPlane, Pods, Scale}

// ParseLevel finds a level by its name.
func ParseLevel(name string) (Level, error) {
	if slices.Contains(levels, Level(name)) {
		return Level(name), nil
	}
	var names []string
	for _, l := range levels {
		names = append(names, string(l))
	}
	return "", fmt.Errorf("there is no level %q: choose one of %s", name, strings.Join(names, ", "))
}

// Options say what to bring up, and where.
type Options struct {
	// Dir holds all files of the cluster: DefaultDir() unless there is a reason.
	Dir string
	// Level is Pods by default.
	Level Level
	// Nodes is how many nodes there are: at most 9 that run pods, or 5000 that do not. By default
	// it is as many as a cluster that is there already has, or 1 and 100.
	Nodes int
	// Trainer is the folder below tools/ that pins Trainer and JobSet, by default "trainer-2.3".
	Trainer string
	// Kueue brings Kueue up too, in the version that fits Trainer's.
	Kueue bool
	// Progress is told what happens, a line per step. Nobody is by default.
	Progress io.Writer
}

// DefaultDir is where a cluster lives unless said otherwise: one for root, because nodes share
// the machine, and one for each other user.
func DefaultDir() (string, error) {
	if os.Geteuid() == 0 {
		return "/var/lib/trainyard-sandbox", nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding a folder for the cluster: %w", err)
	}
	return filepath.Join(cache, "trainyard-sandbox"), nil
}

// maxNodes keeps what is numbered after nodes at one digit; maxFakeNodes is what Kubernetes is
// made for ("Considerations for large clusters").
const maxNodes, maxFakeNodes = 9, 5000

// complete fills in defaults, but for the number of nodes.
func (o Options) complete() (Options, error) {
	if o.Level == "" {
		o.Level = Pods
	}
	if o.Trainer == "" {
		o.Trainer = "trainer-2.3"
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	if err := o.checkNodes(); err != nil {
		return o, err
	}
	if o.Dir == "" {
		dir, err := DefaultDir()
		if err != nil {
			return o, err
		}
		o.Dir = dir
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return o, fmt.Errorf("finding the folder of the cluster: %w", err)
	}
	o.Dir = dir
	// The longest socket below it is containerd's or the kubelet's, and socket paths end at 107 bytes (unix(7)).
	if len(dir) > 60 {
		return o, fmt.Errorf("%s is too long for the sockets in it: use a folder of at most 60 bytes", dir)
	}
	return o, nil
}

func (o Options) checkNodes() error {
	most := map[Level]int{Pods: maxNodes, Scale: maxFakeNodes}[o.Level]
	switch {
	case o.Nodes != 0 && most == 0:
		return fmt.Errorf("the level %s has no nodes: choose pods or scale", o.Level)
	case o.Nodes < 0 || o.Nodes > most:
		return fmt.Errorf("there cannot be %d nodes at the level %s: choose from 1 to %d", o.Nodes, o.Level, most)
	}
	return nil
}
