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

// cgroupRoot is the control group below which all pods are, in each hierarchy.
const cgroupRoot = "/trainyard-sandbox"

// hierarchy is a mounted tree of control groups: version 1 has one for each controller or
// so, version 2 has one for all.
type hierarchy struct {
	path        string
	controllers []string
}

// hierarchies are all of this machine.
func hierarchies() ([]hierarchy, error) {
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

// makeCgroup makes a control group, which the kubelet wants to find, in every hierarchy.
func makeCgroup(group string) error {
	all, err := hierarchies()
	if err != nil {
		return err
	}
	for _, h := range all {
		for _, part := range upTo(group) {
			if err := h.makeGroup(part); err != nil {
				return fmt.Errorf("making a control group: %w", err)
			}
		}
	}
	return nil
}

// upTo lists a path and those above it, the uppermost first: /a/b is /a and /a/b.
func upTo(path string) []string {
	var all []string
	for ; path != "/"; path = filepath.Dir(path) {
		all = append(all, path)
	}
	slices.Reverse(all)
	return all
}

func (h hierarchy) makeGroup(group string) error {
	dir := filepath.Join(h.path, group)
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	// Version 1 lets no process into a group that has no CPUs.
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

// emptyCgroup kills all processes below a control group and removes it everywhere.
func emptyCgroup(group string) error {
	all, err := hierarchies()
	if err != nil {
		return err
	}
	var errs []error
	for _, h := range all {
		dir := filepath.Join(h.path, group)
		for deadline := time.Now().Add(patience / 10); ; time.Sleep(50 * time.Millisecond) {
			err := removeGroups(dir)
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

// removeGroups kills what runs in a tree of control groups, and removes groups from the
// lowest up.
func removeGroups(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if e.IsDir() {
			err = errors.Join(err, removeGroups(filepath.Join(dir, e.Name())))
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
