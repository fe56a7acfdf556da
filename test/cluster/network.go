//go:build linux

package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A common bridge connects the machine with the nodes. Each node also has its own bridge, for its pods. A veth pair
// connects the node's bridge to the common bridge, so that the node can be cut off in one step. The addresses of nodes,
// pods and services are in the range 198.18.0.0/15. RFC 2544 reserves this range for tests of network devices, so other
// networks should not use it.
const (
	bridge   = "trainyard0"
	subnet   = "198.18.0.0/16"
	gateway  = "198.18.0.1"    // the address at which pods reach the machine
	services = "198.19.0.0/16" // addresses of services; they are unreachable, because no kube-proxy runs

	// bridgeMAC is the fixed hardware address of the common bridge. By default, a bridge takes the hardware address of
	// one of its members. A change of the members can therefore change the address of the bridge. After a change of
	// this address, pods could not reach the machine until they resolved the new address.
	bridgeMAC  = "02:74:72:61:69:6e"
	cniPlugins = "/usr/lib/cni"
)

// nodeAddress is the address of a node on the common bridge.
func (n node) nodeAddress() string { return fmt.Sprintf("198.18.0.%d", 10+n.number) }

// podRange returns the first and the last address of a node's pods.
func (n node) podRange() (first, last string) {
	return fmt.Sprintf("198.18.%d.1", n.number), fmt.Sprintf("198.18.%d.254", n.number)
}

// bridgeName is the name of the network device that connects the pods of a node.
func (n node) bridgeName() string { return fmt.Sprintf("trainyard%d", n.number) }

// vethPair returns the names of both ends of the link between the common bridge and the node's bridge.
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
	for _, n := range c.state.listNodes(c.Dir) {
		if err := n.connect(); err != nil {
			return err
		}
	}
	return nil
}

// connect creates the connection between a node's bridge and the common bridge.
func (n node) connect() error {
	common, own := n.vethPair()
	var missing [][]string
	if !isDevice(n.bridgeName()) {
		missing = append(missing, []string{"link", "add", n.bridgeName(), "type", "bridge"})
	}
	if !isDevice(own) {
		missing = append(missing, []string{"link", "add", own, "type", "veth", "peer", "name", common})
	}
	return ipAll(append(missing,
		[]string{"link", "set", n.bridgeName(), "up"},
		[]string{"link", "set", own, "master", n.bridgeName(), "up"},
		[]string{"link", "set", common, "master", bridge, "up"},
		[]string{"address", "replace", n.nodeAddress() + "/32", "dev", bridge},
	))
}

// disconnect cuts off a node and its pods, so that packets to them get no reply. disconnect also deletes the network
// devices of the pods. Otherwise, the devices would stay until the kernel deletes the network namespaces of the pods.
// The network namespace of a pod can still exist for some time after the last process of the pod has ended.
func (n node) disconnect() error {
	if hasAddress(n.nodeAddress()) {
		if err := ip("address", "delete", n.nodeAddress()+"/32", "dev", bridge); err != nil {
			return err
		}
	}
	_, own := n.vethPair()
	pods, err := listMembers(n.bridgeName())
	errs := []error{err}
	for _, device := range slices.Concat([]string{own}, pods, []string{n.bridgeName()}) {
		errs = append(errs, deleteDevice(device))
	}
	return errors.Join(errs...)
}

// listMembers lists the devices that belong to a bridge.
func listMembers(name string) ([]string, error) {
	if !isDevice(name) {
		return nil, nil
	}
	out, err := exec.Command("ip", "-json", "link", "show", "master", name).Output()
	if err != nil {
		return nil, fmt.Errorf("listing the members of bridge %s: %w", name, err)
	}
	var members []struct {
		Name string `json:"ifname"`
	}
	if err := json.Unmarshal(out, &members); err != nil {
		return nil, fmt.Errorf("listing the members of bridge %s: %w", name, err)
	}
	var names []string
	for _, m := range members {
		names = append(names, m.Name)
	}
	return names, nil
}

// deleteDevice deletes a network device. deleteDevice succeeds if the device does not exist, because the kernel can
// delete the device of a pod at any time.
func deleteDevice(name string) error {
	if !isDevice(name) {
		return nil
	}
	if err := ip("link", "delete", name); err != nil && isDevice(name) {
		return err
	}
	return nil
}

func removeNetwork(all []node) error {
	var errs []error
	for _, n := range all {
		errs = append(errs, n.disconnect())
	}
	return errors.Join(append(errs, deleteDevice(bridge))...)
}

func isDevice(name string) bool {
	_, err := net.InterfaceByName(name)
	return err == nil
}

// hasAddress reports whether a network device of the machine has the given address.
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

// kernelSettings lists settings below /proc/sys. These settings are changed by kubelets and by the bridge plugin. The
// settings that kubelets change are listed in pkg/kubelet/cm/container_manager_linux.go of Kubernetes. The bridge
// plugin changes ip_forward. A write to ip_forward also changes the other network settings in this list. Therefore
// restoreSysctls must write ip_forward first.
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

// restoreSysctls restores the settings whose values have changed since the cluster was brought up.
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
