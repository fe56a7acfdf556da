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

// Level selects the parts of a cluster. Every level includes the servers of the level ControlPlane.
type Level string

const (
	// ControlPlane is the level of clusters without nodes: the API server and controllers process objects, and pods stay
	// Pending. A cluster of the level ControlPlane does not need root.
	ControlPlane Level = "control-plane"
	// Pods is the level of a cluster whose nodes run pods. This level needs root.
	Pods Level = "pods"
	// Scale selects a cluster with many simulated nodes. A simulated node exists only as an object in the API server.
	// The program kwok simulates the pods of the simulated nodes.
	Scale Level = "scale"
)

var levels = []Level{ControlPlane, Pods, Scale}

// ParseLevel returns the level with the given name.
func ParseLevel(name string) (Level, error) {
	if slices.Contains(levels, Level(name)) {
		return Level(name), nil
	}
	var names []string
	for _, l := range levels {
		names = append(names, string(l))
	}
	return "", fmt.Errorf("unknown level %q: choose one of %s", name, strings.Join(names, ", "))
}

// Options describe the cluster to bring up.
type Options struct {
	// Dir is the folder of all files of the cluster, by default DefaultDir().
	Dir string
	// Level is Pods by default.
	Level Level
	// Nodes is the number of nodes: at most 9 at level Pods, and at most 5000 at level Scale. For an existing cluster,
	// the default of Nodes is the number of the cluster's nodes. For a new cluster, the default of Nodes is 1 at level
	// Pods, and 100 at level Scale.
	Nodes int
	// Trainer is the folder below tools/ that pins the versions of Trainer and JobSet, by default "trainer-2.3".
	Trainer string
	// Kueue is true if the cluster must have Kueue. The function Up then starts a version of Kueue
	// that supports the cluster's version of Trainer. If Kueue is false, Up also accepts an
	// existing cluster with Kueue.
	Kueue bool
	// Progress receives one line per step. By default, progress lines are discarded.
	Progress io.Writer
}

// DefaultDir returns the default folder of a cluster. For the user root, the folder is /var/lib/trainyard-sandbox. Each
// other user has a separate default folder in the user's cache folder.
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

// maxNodes is 9, so that the number of a node has only one digit. maxFakeNodes is the maximum number of nodes
// that Kubernetes supports (see "Considerations for large clusters" in its documentation).
const maxNodes, maxFakeNodes = 9, 5000

// setDefaults checks the options, and fills in all defaults except the number of nodes.
func (o Options) setDefaults() (Options, error) {
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
	// The path of a socket has at most 107 bytes (see unix(7)). The sockets of containerd and the kubelet have the
	// longest paths below the folder of a cluster. These paths stay within the limit if the path of the folder has at
	// most 60 bytes.
	if len(dir) > 60 {
		return o, fmt.Errorf("the path %s is too long for the Unix sockets in this folder: use a folder with a path of at most 60 bytes", dir)
	}
	return o, nil
}

func (o Options) checkNodes() error {
	limit := map[Level]int{Pods: maxNodes, Scale: maxFakeNodes}[o.Level]
	switch {
	case o.Nodes != 0 && limit == 0:
		return fmt.Errorf("level %s has no nodes: choose level pods or scale", o.Level)
	case o.Nodes < 0 || o.Nodes > limit:
		return fmt.Errorf("a cluster of level %[2]s cannot have %[1]d nodes: choose from 1 to %[3]d", o.Nodes, o.Level, limit)
	}
	return nil
}
