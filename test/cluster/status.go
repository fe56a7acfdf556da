//go:build linux

package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/trainyard/trainyard/test/process"
	"github.com/trainyard/trainyard/test/upstream"
)

// Server describes one server of a cluster.
type Server struct {
	// Name is the name of the server, such as etcd or dns. If the server belongs to a node, Name also contains
	// the name of the node.
	Name string
	// PID is the process id, or 0 if the server does not run.
	PID int
	// Log is the path of the server's log.
	Log string
}

// Status returns a list of the servers of a cluster. The argument "dir" is the folder that contains the state and the
// logs of the cluster. In the list, each server is placed after the servers on which it depends. If the folder contains
// no state of a cluster, the list is empty.
func Status(dir string) ([]Server, error) {
	saved, err := readState(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the state of the cluster: %w", err)
	}
	var found []Server
	for _, name := range saved.listServers(dir) {
		d := newDaemon(dir, name)
		found = append(found, Server{Name: name, PID: d.PID(), Log: d.Log})
	}
	return found, nil
}

// AddedServer returns a daemon for an additional server of the cluster in the folder "dir". The caller must start
// this daemon. While the additional server runs, the function Status lists it. The function Down stops it before the
// other servers of the cluster.
func AddedServer(dir, name string) process.Daemon { return newDaemon(dir, name) }

// listServers lists the daemons of a cluster, each after the daemons on which it depends. Servers that other
// programs have added are at the end of the list.
func (s state) listServers(dir string) []string {
	all := s.listOwnServers(dir)
	records, _ := os.ReadDir(filepath.Join(dir, "records")) // if the folder does not exist, no server was added
	for _, record := range records {
		if !slices.Contains(all, record.Name()) {
			all = append(all, record.Name())
		}
	}
	return all
}

// listOwnServers lists the daemons that the function Up starts. In the list, each daemon comes after the daemons on
// which it depends.
func (s state) listOwnServers(dir string) []string {
	all := []string{"etcd", apiServer, controllerManager, scheduler}
	switch s.Level {
	case Pods:
		all = append(all, "dns")
		for _, n := range s.listNodes(dir) {
			all = append(all, n.containerd(), n.kubelet())
		}
	case Scale:
		all = append(all, "kwok")
	}
	all = append(all, upstream.JobSet.Name, upstream.Trainer.Name)
	if s.Kueue {
		all = append(all, upstream.Kueue.Name)
	}
	return all
}
