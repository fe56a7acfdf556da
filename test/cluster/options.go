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

// Level is how much of a cluster to bring up. Each holds the ones before it.
type Level string

const (
	// ControlPlane has no nodes: objects are made and judged, and pods stay Pending. It
	// does not need root.
	ControlPlane Level = "control-plane"
	// Pods has a node that runs pods. It needs root.
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

// complete fills in defaults.
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
	// The longest socket below it is containerd's, and socket paths end at 107 bytes (unix(7)).
	if len(dir) > 60 {
		return o, fmt.Errorf("%s is too long for the sockets in it: use a folder of at most 60 bytes", dir)
	}
	return o, nil
}
