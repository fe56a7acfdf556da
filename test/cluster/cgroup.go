//go:build linux

package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// cgroupRoot is the path of the control group below which all pods run. The path is the same in each
// hierarchy of control groups.
const cgroupRoot = "/trainyard-sandbox"

// hierarchy is a mounted tree of control groups. With version 1 of control groups, a machine has about one tree per
// cgroup controller. With version 2, a machine has only one tree for all cgroup controllers.
type hierarchy struct {
	path        string
	controllers []string
}

// listHierarchies lists the control group trees that this machine mounts.
func listHierarchies() ([]hierarchy, error) {
	mounts, err := mountinfo.GetMounts(func(m *mountinfo.Info) (skip, stop bool) {
		return m.FSType != "cgroup" && m.FSType != "cgroup2", false
	})
	if err != nil {
		return nil, fmt.Errorf("looking for control groups: %w", err)
	}
	var found []hierarchy
	for _, m := range mounts {
		h := hierarchy{path: m.Mountpoint, controllers: strings.Split(m.VFSOptions, ",")}
		if m.FSType == "cgroup2" {
			text, err := os.ReadFile(filepath.Join(m.Mountpoint, "cgroup.controllers"))
			if err != nil {
				return nil, fmt.Errorf("looking for control groups: %w", err)
			}
			h.controllers = strings.Fields(string(text))
		}
		found = append(found, h)
	}
	return found, nil
}

// createCgroup creates a control group in every hierarchy. The kubelet does not start if its control group is missing.
func createCgroup(group string) error {
	all, err := listHierarchies()
	if err != nil {
		return err
	}
	for _, h := range all {
		for _, path := range withParents(group) {
			if err := h.create(path); err != nil {
				return fmt.Errorf("creating a control group: %w", err)
			}
		}
	}
	return nil
}

// withParents lists the parents of a path, from the top down, and then the path itself. For /a/b, the result is /a
// and /a/b.
func withParents(path string) []string {
	var all []string
	for ; path != "/"; path = filepath.Dir(path) {
		all = append(all, path)
	}
	slices.Reverse(all)
	return all
}

func (h hierarchy) create(group string) error {
	dir := filepath.Join(h.path, group)
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	// With version 1 of control groups, a group accepts no process until its CPUs and memory nodes are set. The loop
	// copies both settings from the parent group.
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		text, err := os.ReadFile(filepath.Join(filepath.Dir(dir), file))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, file), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// removeCgroup kills all processes in a control group and its subgroups, and removes the group from every
// hierarchy.
func removeCgroup(group string) error {
	all, err := listHierarchies()
	if err != nil {
		return err
	}
	var errs []error
	for _, h := range all {
		dir := filepath.Join(h.path, group)
		for deadline := time.Now().Add(startTimeout / 10); ; time.Sleep(50 * time.Millisecond) {
			err := killAndRemove(dir)
			if err == nil {
				break
			}
			if time.Now().After(deadline) {
				errs = append(errs, fmt.Errorf("removing control group %s: %w", dir, err))
				break
			}
		}
	}
	return errors.Join(errs...)
}

// killAndRemove kills the processes in a tree of control groups and removes the groups, from the bottom up.
func killAndRemove(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if e.IsDir() {
			err = errors.Join(err, killAndRemove(filepath.Join(dir, e.Name())))
		}
	}
	text, readErr := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	for _, field := range strings.Fields(string(text)) {
		if pid, convErr := strconv.Atoi(field); convErr == nil && pid > 0 {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
	return errors.Join(err, readErr, unix.Rmdir(dir))
}
