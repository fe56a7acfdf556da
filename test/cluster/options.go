//go:build linux

package cluster

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Level is how much of a cluster to bring up. Each holds the ones before it.
type Level string

const (
	// ControlPlane has no nodes: objects are made and judged, and pods stay Pending. It
	// does not need root.
	ControlPlane Level = "control-plane"
	// Pods has nodes that run pods. It needs root.
	Pods Level = "pods"
)

var levels = []Level{ControlPlane, Pods}

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
	// Nodes is how many nodes there are, at most 9. By default it is as many as a cluster that is
	// there already has, or one.
	Nodes int
	// Trainer is the folder below tools/ that pins Trainer and JobSet, by default "trainer-2.3".
	Trainer string
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

// maxNodes keeps what is numbered after nodes at one digit.
const maxNodes = 9

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
	switch {
	case o.Level == ControlPlane && o.Nodes != 0:
		return o, errors.New("the level control-plane has no nodes: choose the level pods")
	case o.Nodes < 0 || o.Nodes > maxNodes:
		return o, fmt.Errorf("there cannot be %d nodes: choose from 1 to %d", o.Nodes, maxNodes)
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
