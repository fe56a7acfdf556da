//go:build linux

package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// state is what Down must know, written before anything is changed.
type state struct {
	Level   Level             `json:"level"`
	Nodes   int               `json:"nodes,omitempty"`
	Trainer string            `json:"trainer"`
	Sysctls map[string]string `json:"sysctls,omitempty"` // values before, by path below /proc/sys
	Absent  []string          `json:"absent,omitempty"`  // shared folders that did not exist before
}

func statePath(dir string) string { return filepath.Join(dir, "state.json") }

// readState fails with fs.ErrNotExist where no cluster is.
func readState(dir string) (state, error) {
	var s state
	text, err := os.ReadFile(statePath(dir))
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return s, fmt.Errorf("reading %s: %w", statePath(dir), err)
	}
	return s, nil
}

// claim makes a folder a cluster's, or finds that it is one of the same options. It fills in
// the number of nodes.
func claim(o Options) (Options, error) {
	found, err := readState(o.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		if o.Level == Pods {
			o.Nodes = max(o.Nodes, 1)
		}
		return o, record(o)
	}
	if err != nil {
		return o, err
	}
	if o.Nodes == 0 {
		o.Nodes = found.Nodes
	}
	if found.Level != o.Level || found.Trainer != o.Trainer || found.Nodes != o.Nodes {
		return o, fmt.Errorf("%s has a cluster of level %s with %d nodes and %s: take that one down first",
			o.Dir, found.Level, found.Nodes, found.Trainer)
	}
	return o, nil
}

func record(o Options) error {
	s := state{Level: o.Level, Nodes: o.Nodes, Trainer: o.Trainer}
	if o.Level == Pods {
		if _, err := net.InterfaceByName(bridge); err == nil {
			return fmt.Errorf("the network device %s is there already: another cluster has it, or is what is left of one", bridge)
		}
		sysctls, err := readSysctls()
		if err != nil {
			return fmt.Errorf("reading kernel settings: %w", err)
		}
		s.Sysctls, s.Absent = sysctls, absentFolders()
	}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(statePath(o.Dir), text, 0o600); err != nil {
		return fmt.Errorf("recording the machine's state: %w", err)
	}
	return nil
}

// lock keeps two programs from working on the same cluster. The lock goes with the file, or
// with the process.
func lock(dir string) (*os.File, error) {
	file, err := os.OpenFile(dir+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking %s: %w", dir, err)
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("somebody else is working on %s: %w", dir, err)
	}
	return file, nil
}
