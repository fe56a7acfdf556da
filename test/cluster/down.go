//go:build linux

package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
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

// Down stops the cluster whose files are in the folder "dir", and restores the machine's settings. If one step fails,
// Down still carries out the other steps, but keeps the folder. If the folder contains no cluster, Down just removes
// the folder.
func Down(ctx context.Context, dir string, progress io.Writer) error {
	lockFile, err := lock(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer lockFile.Close()
	saved, err := readState(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	began := time.Now()
	var errs []error
	// Every server stops before the servers on which it depends. The loop skips containerd, because
	// removePods stops containerd later, after the pods.
	for _, name := range slices.Backward(saved.listServers(dir)) {
		if !strings.HasPrefix(name, "containerd-") {
			errs = append(errs, newDaemon(dir, name).Stop())
		}
	}
	if saved.Level == Pods {
		errs = append(errs, removePods(ctx, dir, saved))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("taking the cluster down: %w", err)
	}
	if err := errors.Join(os.RemoveAll(dir), os.Remove(dir+".lock")); err != nil {
		return fmt.Errorf("removing the cluster's folder: %w", err)
	}
	_, _ = fmt.Fprintf(progress, "%-24s %6.1f s\n", "down", time.Since(began).Seconds())
	return nil
}

// removePods removes all containers with their mounts and network devices, and restores the kernel settings that the
// cluster changed.
func removePods(ctx context.Context, dir string, saved state) error {
	errs := []error{removeCgroup(cgroupRoot)}
	all := saved.listNodes(dir)
	for _, n := range all {
		errs = append(errs, n.stopShims(10*time.Second), newDaemon(dir, n.containerd()).Stop())
	}
	errs = append(errs, unmountBelow(dir), removeNetwork(all), restoreSysctls(saved.Sysctls))
	errs = append(errs, removeLinks(dir), removeNetworkResults(dir))
	for _, folder := range saved.Absent {
		errs = append(errs, removeEmpty(folder))
	}
	return errors.Join(append(errs, ctx.Err())...)
}

// stopShims stops the shims of the node: the processes that run containers for containerd. stopShims kills
// shims that do not end within the grace period. Shims keep running after their containers and containerd
// have stopped. A shim belongs to the node if its arguments contain the socket of the node's containerd.
func (n node) stopShims(gracePeriod time.Duration) error {
	for deadline := time.Now().Add(gracePeriod); ; time.Sleep(50 * time.Millisecond) {
		pids, err := n.shims()
		if err != nil || len(pids) == 0 {
			return err
		}
		signal := unix.SIGTERM
		if time.Now().After(deadline) {
			signal = unix.SIGKILL
		}
		for _, pid := range pids {
			_ = unix.Kill(pid, signal)
		}
	}
}

func (n node) shims() ([]int, error) {
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return nil, err
	}
	var found []int
	for _, file := range processes {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // the process has just ended
		}
		args := strings.Split(string(bytes.TrimRight(text, "\x00")), "\x00")
		if !strings.Contains(filepath.Base(args[0]), "containerd-shim") || !slices.Contains(args, n.socketPath()) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			return nil, err
		}
		found = append(found, pid)
	}
	return found, nil
}

// unmountBelow unmounts everything below a folder, the innermost mount first.
func unmountBelow(dir string) error {
	mounts, err := mountinfo.GetMounts(mountinfo.PrefixFilter(dir))
	if err != nil {
		return fmt.Errorf("looking for mounts: %w", err)
	}
	slices.SortFunc(mounts, func(a, b *mountinfo.Info) int { return len(b.Mountpoint) - len(a.Mountpoint) })
	var errs []error
	for _, m := range mounts {
		if err := unix.Unmount(m.Mountpoint, unix.MNT_DETACH); err != nil {
			errs = append(errs, fmt.Errorf("unmounting %s: %w", m.Mountpoint, err))
		}
	}
	return errors.Join(errs...)
}
