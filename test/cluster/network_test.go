//go:build linux

package cluster

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// TestDisconnectDeletesDevicesOfPods checks that no network device of the node is left when disconnect returns. If
// disconnect did not delete the devices of pods, they would stay until the kernel deletes the network namespaces of the
// pods.
func TestDisconnectDeletesDevicesOfPods(t *testing.T) {
	if os.Getenv("TRAINYARD_E2E") == "" {
		t.Skip("needs root: run `make e2e`")
	}
	// The test locks its goroutine to a thread. The goroutine never unlocks the thread, so the thread
	// ends with the goroutine. Therefore no other goroutine can run in the new network namespace.
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Fatalf("creating a network namespace: %v", err)
	}
	n := node{name: "node1", number: 1}
	if err := ip("link", "add", bridge, "type", "bridge"); err != nil {
		t.Fatal(err)
	}
	before := listDevices()
	for range 2 { // in the second iteration, the node is connected again
		if err := n.connect(); err != nil {
			t.Fatal(err)
		}
		if err := ipAll([][]string{
			{"link", "add", "veth1", "type", "veth", "peer", "name", "eth1"}, {"link", "set", "veth1", "master", n.bridgeName()},
			{"link", "add", "veth2", "type", "veth", "peer", "name", "eth2"}, {"link", "set", "veth2", "master", n.bridgeName()},
		}); err != nil {
			t.Fatal(err)
		}
		if err := n.disconnect(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, listDevices()); diff != "" {
			t.Fatalf("devices: -before connect() +after disconnect():\n%s", diff)
		}
	}
	if err := n.disconnect(); err != nil {
		t.Errorf("disconnecting again: %v", err)
	}
	if err := deleteDevice("lo"); err == nil {
		t.Error("deleteDevice() of a device that cannot be deleted succeeded")
	}
}

func listDevices() []string {
	var names []string
	for _, line := range outputLines("ip", "-o", "link") {
		names = append(names, strings.Fields(line)[1])
	}
	return names
}
