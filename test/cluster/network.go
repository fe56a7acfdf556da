//go:build linux

package cluster

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A common bridge joins the machine and its nodes. Each node has a bridge for its pods, which a veth pair
// joins to the common bridge, so that a node can be cut off in one step. The addresses are from the range
// reserved for tests of network devices (RFC 2544), which no real network uses.
const (
	bridge   = "trainyard0"
	subnet   = "198.18.0.0/16"
	gateway  = "198.18.0.1"    // the machine, as pods see it
	services = "198.19.0.0/16" // addresses of services: unreachable, because there is no kube-proxy

	// bridgeMAC is fixed. Without it a bridge takes the address of one of its members, and pods lose the
	// machine when members change, until they resolve its address again.
	bridgeMAC  = "02:74:72:61:69:6e"
	cniPlugins = "/usr/lib/cni"
)

// address is the address of a node on the common bridge.
func (n node) address() string { return fmt.Sprintf("198.18.0.%d", 10+n.number) }

// pods returns the first and the last address of a node's pods.
func (n node) pods() (first, last string) {
	return fmt.Sprintf("198.18.%d.1", n.number), fmt.Sprintf("198.18.%d.254", n.number)
}

// bridge is the network device that joins the pods of a node.
func (n node) bridge() string { return fmt.Sprintf("trainyard%d", n.number) }

// vethPair names the two ends of the link between the common bridge and the node's bridge.
func (n node) vethPair() (common, own string) {
	return fmt.Sprintf("trainyard0-%d", n.number), fmt.Sprintf("trainyard%d-0", n.number)
}

// createNetwork creates the bridges that are missing.
func (c *cluster) createNetwork() error {
	if !isDevice(bridge) {
		if err := ip("link", "add", bridge, "address", bridgeMAC, "type", "bridge"); err != nil {
			return err
		}
	}
	if err := ipAll([][]string{
		{"address", "replace", gateway + "/16", "dev", bridge}, {"link", "set", bridge, "up"},
	}); err != nil {
		return err
	}
	for _, n := range c.state.nodes(c.Dir) {
		if err := n.connect(); err != nil {
			return err
		}
	}
	return nil
}

// connect joins a node's bridge to the common bridge.
func (n node) connect() error {
	common, own := n.vethPair()
	var missing [][]string
	if !isDevice(n.bridge()) {
		missing = append(missing, []string{"link", "add", n.bridge(), "type", "bridge"})
	}
	if !isDevice(own) {
		missing = append(missing, []string{"link", "add", own, "type", "veth", "peer", "name", common})
	}
	return ipAll(append(missing,
		[]string{"link", "set", n.bridge(), "up"},
		[]string{"link", "set", own, "master", n.bridge(), "up"},
		[]string{"link", "set", common, "master", bridge, "up"},
		[]string{"address", "replace", n.address() + "/32", "dev", bridge},
	))
}

// disconnect cuts off a node and its pods: packets to them get no reply.
func (n node) disconnect() error {
	_, own := n.vethPair()
	var commands [][]string
	if hasAddress(n.address()) {
		commands = append(commands, []string{"address", "delete", n.address() + "/32", "dev", bridge})
	}
	for _, device := range []string{own, n.bridge()} {
		if isDevice(device) {
			commands = append(commands, []string{"link", "delete", device})
		}
	}
	return ipAll(commands)
}

func removeNetwork(all []node) error {
	var errs []error
	for _, n := range all {
		errs = append(errs, n.disconnect())
	}
	if isDevice(bridge) {
		errs = append(errs, ip("link", "delete", bridge))
	}
	return errors.Join(errs...)
}

func isDevice(name string) bool {
	_, err := net.InterfaceByName(name)
	return err == nil
}

// hasAddress reports whether the machine has an address.
func hasAddress(address string) bool {
	all, err := net.InterfaceAddrs()
	return err == nil && slices.ContainsFunc(all, func(a net.Addr) bool {
		return strings.HasPrefix(a.String(), address+"/")
	})
}

// ipAll runs the ip command once for each list of arguments.
func ipAll(all [][]string) error {
	for _, args := range all {
		if err := ip(args...); err != nil {
			return err
		}
	}
	return nil
}

func ip(args ...string) error {
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// kernelSettings are the settings below /proc/sys that kubelets and the bridge plugin change: see kubelet's
// pkg/kubelet/cm/container_manager_linux.go, and the settings that turning on forwarding changes.
// ip_forward comes first, because writing it resets the others.
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

// restoreSysctls writes the settings that have changed.
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
