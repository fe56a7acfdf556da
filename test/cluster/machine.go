//go:build linux

package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/trainyard/trainyard/test/upstream"
)

// needPrograms fails when something is not built or not installed.
func (c *cluster) needPrograms() error {
	programs := []string{"etcd", apiServer, controllerManager, scheduler, "kustomize"}
	switch c.Level {
	case Pods:
		programs = append(programs, "kubelet", "coredns", "pause")
	case Scale:
		programs = append(programs, "kwok")
	}
	var paths []string
	for _, name := range programs {
		paths = append(paths, c.tools.Path(name))
	}
	for _, m := range []upstream.Manager{upstream.JobSet, upstream.Trainer} {
		paths = append(paths, c.tools.ManagerPath(m))
	}
	target := "cluster-tools"
	if c.Level == Scale {
		target = "scale-tools"
	}
	err := errors.Join(upstream.Need(target, paths...), c.needKueue())
	if c.Level != Pods {
		return err
	}
	for _, name := range []string{"containerd", "containerd-shim-runc-v2", "ctr", "runc", "ip"} {
		if _, missing := exec.LookPath(name); missing != nil {
			err = errors.Join(err, fmt.Errorf("%s is missing: run `make cluster-packages`", name))
		}
	}
	for _, name := range []string{"bridge", "host-local", "loopback"} {
		if _, missing := os.Stat(filepath.Join(cniPlugins, name)); missing != nil {
			err = errors.Join(err, fmt.Errorf("%s/%s is missing: run `make cluster-packages`", cniPlugins, name))
		}
	}
	return err
}

func (c *cluster) needKueue() error {
	if !c.Kueue {
		return nil
	}
	tools, err := kueueFor(c.Trainer)
	if err != nil {
		return err
	}
	return upstream.Need("kueue-tools", tools.ManagerPath(upstream.Kueue))
}

// needMachine fails when this machine cannot run pods, with all reasons.
func (c *cluster) needMachine() error {
	if c.Level != Pods {
		return nil
	}
	if os.Geteuid() != 0 {
		return errors.New("running pods needs root: be root, or choose another level")
	}
	return errors.Join(needCapabilities(), needOverlay(), needControllers())
}

// needCapabilities: root in a container may lack what makes it root.
func needCapabilities() error {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return fmt.Errorf("reading what this user may do: %w", err)
	}
	return missingCapabilities(string(status))
}

// missingCapabilities reads /proc/PID/status (proc(5)).
func missingCapabilities(status string) error {
	_, after, _ := strings.Cut(status, "CapEff:\t")
	line, _, _ := strings.Cut(after, "\n")
	effective, err := strconv.ParseUint(line, 16, 64)
	if err != nil {
		return fmt.Errorf("reading what this user may do: %w", err)
	}
	var errs []error
	for name, bit := range map[string]uint{
		"CAP_SYS_ADMIN": unix.CAP_SYS_ADMIN, "CAP_NET_ADMIN": unix.CAP_NET_ADMIN, "CAP_MKNOD": unix.CAP_MKNOD,
	} {
		if effective&(1<<bit) == 0 {
			errs = append(errs, fmt.Errorf("this user lacks %s, which running pods needs", name))
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
}

// needOverlay: containers share the layers of images by the overlay file system.
func needOverlay() error {
	known, err := os.ReadFile("/proc/filesystems")
	if err != nil {
		return fmt.Errorf("reading what file systems there are: %w", err)
	}
	if bytes.Contains(known, []byte("\toverlay\n")) {
		return nil
	}
	// Kernels load it when they see the first one; modprobe tells whether they can.
	if err := exec.Command("modprobe", "-q", "overlay").Run(); err != nil {
		return errors.New("this kernel has no overlay file system, which images need")
	}
	return nil
}

// needControllers: limits of pods are the kernel's to enforce.
func needControllers() error {
	all, err := hierarchies()
	if err != nil {
		return err
	}
	var have []string
	for _, h := range all {
		have = append(have, h.controllers...)
	}
	var missing []string
	for _, want := range []string{"cpu", "cpuset", "memory", "pids"} {
		if !slices.Contains(have, want) {
			missing = append(missing, want)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("this machine mounts no control group for %s: running pods needs them", strings.Join(missing, ", "))
	}
	return nil
}
