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

// requirePrograms fails if a program that this cluster runs is not built or not installed.
func (c *cluster) requirePrograms() error {
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
	err := errors.Join(upstream.RequireBuilt(target, paths...), c.requireKueue())
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

func (c *cluster) requireKueue() error {
	if !c.Kueue {
		return nil
	}
	tools, err := matchingKueue(c.Trainer)
	if err != nil {
		return err
	}
	return upstream.RequireBuilt("kueue-tools", tools.ManagerPath(upstream.Kueue))
}

// requireMachine fails if this machine cannot run a cluster of the chosen level.
func (c *cluster) requireMachine() error {
	if c.Level != Pods {
		return nil
	}
	return RequirePods()
}

// RequirePods fails if this machine cannot run pods. If the user is not root, the error states only that root is
// needed. For root, the error lists everything that is missing. RequirePods does not check whether the programs of a
// cluster are installed.
func RequirePods() error {
	if os.Geteuid() != 0 {
		return errors.New("running pods needs root: run as root, or use level control-plane or scale, which run no pods")
	}
	return errors.Join(requireCapabilities(), requireOverlay(), requireControllers())
}

// requireCapabilities fails if the user lacks a Linux capability that is needed to run pods. In a container, even
// root can lack capabilities.
func requireCapabilities() error {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return fmt.Errorf("reading the capabilities of this user: %w", err)
	}
	return missingCapabilities(string(status))
}

// missingCapabilities returns an error for each missing capability. The argument "status" is the text of the file
// /proc/PID/status, which proc(5) describes.
func missingCapabilities(status string) error {
	_, after, _ := strings.Cut(status, "CapEff:\t")
	line, _, _ := strings.Cut(after, "\n")
	effective, err := strconv.ParseUint(line, 16, 64)
	if err != nil {
		return fmt.Errorf("reading the capabilities of this user: %w", err)
	}
	var errs []error
	for name, bit := range map[string]uint{
		"CAP_SYS_ADMIN": unix.CAP_SYS_ADMIN, "CAP_NET_ADMIN": unix.CAP_NET_ADMIN, "CAP_MKNOD": unix.CAP_MKNOD,
	} {
		if effective&(1<<bit) == 0 {
			errs = append(errs, fmt.Errorf("this user lacks the capability %s, which is needed to run pods", name))
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
}

// requireOverlay fails if the kernel has no overlay file system. With an overlay file system, containers share the
// layers of their images.
func requireOverlay() error {
	known, err := os.ReadFile("/proc/filesystems")
	if err != nil {
		return fmt.Errorf("reading the file systems of this kernel: %w", err)
	}
	if bytes.Contains(known, []byte("\toverlay\n")) {
		return nil
	}
	// If the kernel has not loaded the module "overlay" yet, modprobe loads it. modprobe fails if this module does not
	// exist.
	if err := exec.Command("modprobe", "-q", "overlay").Run(); err != nil {
		return errors.New("this kernel has no overlay file system, which images need")
	}
	return nil
}

// requireControllers fails if this machine lacks a cgroup controller that is needed to enforce the resource limits of
// pods.
func requireControllers() error {
	all, err := listHierarchies()
	if err != nil {
		return err
	}
	var mounted []string
	for _, h := range all {
		mounted = append(mounted, h.controllers...)
	}
	var missing []string
	for _, want := range []string{"cpu", "cpuset", "memory", "pids"} {
		if !slices.Contains(mounted, want) {
			missing = append(missing, want)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("this machine mounts no control groups for %s, which are needed to run pods", strings.Join(missing, ", "))
	}
	return nil
}
