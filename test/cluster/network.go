//go:build linux

package cluster

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Pods and nodes share one bridge. Its addresses are of the range kept for tests of network
// devices (RFC 2544), which no real network uses.
const (
	bridge     = "trainyard0"
	subnet     = "198.18.0.0/24"
	gateway    = "198.18.0.1" // of pods, and address of the first node
	firstPod   = "198.18.0.10"
	cniPlugins = "/usr/lib/cni"
)

// makeBridge makes the bridge with the addresses of all nodes, unless it is there.
func (c *cluster) makeBridge() error {
	if _, err := net.InterfaceByName(bridge); err != nil {
		if err := ip("link", "add", bridge, "type", "bridge"); err != nil {
			return err
		}
	}
	for _, n := range c.nodes() {
		if err := ip("address", "replace", n.address+"/24", "dev", bridge); err != nil {
			return err
		}
	}
	return ip("link", "set", bridge, "up")
}

func removeBridge() error {
	if _, err := net.InterfaceByName(bridge); err != nil {
		return nil //nolint:nilerr // there is none
	}
	return ip("link", "delete", bridge)
}

func ip(args ...string) error {
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// kernelSettings are what kubelets and the bridge plugin write, below /proc/sys: kubelet's
// pkg/kubelet/cm/container_manager_linux.go and what turning on forwarding turns on.
// Forwarding as a whole comes first, because writing it writes the others.
var kernelSettings = []string{
	"net/ipv4/ip_forward", "net/ipv4/conf/*/forwarding", "net/ipv4/conf/*/accept_redirects",
	"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops",
	"kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes",
}

const sysctls = "/proc/sys"

func settingFiles() ([]string, error) {
	var files []string
	for _, pattern := range kernelSettings {
		found, err := filepath.Glob(filepath.Join(sysctls, pattern))
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	return files, nil
}

// readSysctls reads all settings that a cluster changes.
func readSysctls() (map[string]string, error) {
	files, err := settingFiles()
	if err != nil {
		return nil, err
	}
	values := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		values[strings.TrimPrefix(file, sysctls+"/")] = strings.TrimSpace(string(text))
	}
	return values, nil
}

// restoreSysctls writes those that differ from what they were.
func restoreSysctls(before map[string]string) error {
	files, err := settingFiles()
	if err != nil {
		return err
	}
	var errs []error
	for _, file := range files {
		want, known := before[strings.TrimPrefix(file, sysctls+"/")]
		now, err := os.ReadFile(file)
		if known && err == nil && strings.TrimSpace(string(now)) != want {
			err = os.WriteFile(file, []byte(want), 0o644)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
