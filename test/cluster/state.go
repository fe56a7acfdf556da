//go:build linux

package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// state describes a cluster. Up writes the state to a file, before Up starts servers or changes settings of the
// machine. Later calls of functions such as Down read this file.
type state struct {
	Level   Level             `json:"level"`
	Nodes   int               `json:"nodes,omitempty"`
	Trainer string            `json:"trainer"`
	Kueue   bool              `json:"kueue,omitempty"`
	Host    int               `json:"host"`              // the third number in the loopback addresses of the cluster
	Sysctls map[string]string `json:"sysctls,omitempty"` // original kernel settings, by path below /proc/sys
	Absent  []string          `json:"absent,omitempty"`  // shared folders that did not exist before the cluster
}

func statePath(dir string) string { return filepath.Join(dir, "state.json") }

// readState reads the state of the cluster in the folder "dir". readState fails with fs.ErrNotExist if there is no
// cluster.
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

// claim writes the state of a new cluster to its folder, and returns this state. If the folder
// already has a cluster that satisfies the options, claim returns the state of this cluster. claim
// fails if the existing cluster does not satisfy the options.
func claim(o Options) (state, error) {
	found, err := readState(o.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return newState(o)
	}
	if err != nil {
		return found, err
	}
	same := found.Level == o.Level && found.Trainer == o.Trainer
	if !same || o.Nodes != 0 && found.Nodes != o.Nodes || o.Kueue && !found.Kueue {
		return found, fmt.Errorf("folder %s already has %s: take that cluster down first", o.Dir, found)
	}
	return found, nil
}

// String describes the cluster.
func (s state) String() string {
	text := fmt.Sprintf("a cluster of level %s with %d nodes and %s", s.Level, s.Nodes, s.Trainer)
	if !s.Kueue {
		return text + ", without Kueue"
	}
	return text + ", with Kueue"
}

// defaultNodes contains the default number of nodes of a new cluster, by level.
var defaultNodes = map[Level]int{Pods: 1, Scale: 100}

func newState(o Options) (state, error) {
	s := state{Level: o.Level, Nodes: o.Nodes, Trainer: o.Trainer, Kueue: o.Kueue}
	if s.Nodes == 0 {
		s.Nodes = defaultNodes[o.Level]
	}
	var err error
	if s.Host, err = freeHost(o.Dir); err != nil {
		return s, err
	}
	if o.Level == Pods {
		if isDevice(bridge) {
			return s, fmt.Errorf("the network device %[1]s exists already: take down the other cluster that uses the device, or if there is none, run `ip link delete %[1]s`", bridge)
		}
		if s.Sysctls, err = readSysctls(); err != nil {
			return s, fmt.Errorf("reading kernel settings: %w", err)
		}
		s.Absent = absentFolders()
	}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return s, err
	}
	if err := os.WriteFile(statePath(o.Dir), text, 0o600); err != nil {
		return s, fmt.Errorf("recording the machine's state: %w", err)
	}
	return s, nil
}

// loopback returns a loopback address that no other cluster uses, so that the cluster's servers can listen on their
// standard ports.
func (s state) loopback() string { return loopbackAddress(s.Host, 1) }

func loopbackAddress(host, number int) string { return fmt.Sprintf("127.88.%d.%d", host, number) }

// freeHost chooses the number N in the loopback addresses 127.88.N.M of a new cluster. No other running cluster uses
// the same N. The search for a free number starts at a hash of the path of the cluster's folder. Therefore two
// clusters that start at the same time rarely choose the same number.
func freeHost(dir string) (int, error) {
	const hosts = 256
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(dir))
	var errs []error
	for i := range hosts {
		host := (int(hash.Sum32()%hosts) + i) % hosts
		l, err := net.Listen("tcp", net.JoinHostPort(loopbackAddress(host, 1), "2379"))
		if err == nil {
			return host, l.Close()
		}
		errs = append(errs, err)
	}
	return 0, fmt.Errorf("finding a free address: %w", errs[0])
}

// lock prevents two programs from working on the same cluster at the same time. The lock is released when
// the returned file is closed or the process ends.
func lock(dir string) (*os.File, error) {
	file, err := os.OpenFile(dir+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking %s: %w", dir, err)
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("another program is using the cluster in %s, wait until this program ends: %w", dir, err)
	}
	return file, nil
}
