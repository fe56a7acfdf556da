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

// Down ends the cluster in dir and puts the machine back as it was. It goes on after
// errors. Where no cluster is, there is nothing to do.
func Down(ctx context.Context, dir string, progress io.Writer) error {
	held, err := lock(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer held.Close()
	was, err := readState(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	began := time.Now()
	var errs []error
	// Nobody waits in vain for one that is gone already. Containerd is needed until pods are gone.
	for _, name := range slices.Backward(was.servers(dir)) {
		if !strings.HasPrefix(name, "containerd-") {
			errs = append(errs, daemon(dir, name).Stop())
		}
	}
	if was.Level == Pods {
		errs = append(errs, removePods(ctx, dir, was))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("taking the cluster down: %w", err)
	}
	if err := errors.Join(os.RemoveAll(dir), os.Remove(dir+".lock")); err != nil {
		return fmt.Errorf("removing the cluster's folder: %w", err)
	}
	say(progress, "%-24s %6.1f s", "down", time.Since(began).Seconds())
	return nil
}

// removePods ends all containers and what they were made of.
func removePods(ctx context.Context, dir string, was state) error {
	errs := []error{emptyCgroup(cgroupRoot)}
	all := was.nodes(dir)
	for _, n := range all {
		errs = append(errs, n.stopShims(10*time.Second), daemon(dir, n.containerd()).Stop())
	}
	errs = append(errs, unmountBelow(dir), removeNetwork(all), restoreSysctls(was.Sysctls))
	errs = append(errs, removeLinks(dir), removeNetworkResults(dir))
	for _, folder := range was.Absent {
		errs = append(errs, removeEmpty(folder))
	}
	return errors.Join(append(errs, ctx.Err())...)
}

// stopShims ends the processes that hold containers for containerd, which outlive both, and
// kills them when they do not end in time. They are known by the socket they were told to
// report to.
func (n node) stopShims(patience time.Duration) error {
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
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
			continue // it has just ended
		}
		args := strings.Split(string(bytes.TrimRight(text, "\x00")), "\x00")
		if !strings.Contains(filepath.Base(args[0]), "containerd-shim") || !slices.Contains(args, n.socket()) {
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

// unmountBelow unmounts all of a folder, the innermost first.
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
