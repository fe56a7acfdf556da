//go:build linux

package packets

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// uplink is the machine's address on the way to each host.
const uplink = "169.254.1.1"

// network is that of one host, which a pair of devices joins with the machine's.
type network struct {
	file      *os.File // keeps it there
	address   string
	listeners []io.Closer
}

// newNetwork makes a network in which a host has an address, and a way to all others.
func newNetwork(t *testing.T, number int, address string) *network {
	t.Helper()
	device := fmt.Sprintf("pod%d", number)
	n := &network{address: address}
	apart(t, func() {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			t.Fatalf("making a network: %v", err)
		}
		n.file = open(t, "/proc/thread-self/ns/net")
	})
	t.Cleanup(func() { _ = n.file.Close() })
	there := fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), n.file.Fd())
	run(t, "ip", "link", "add", device, "type", "veth", "peer", "name", "eth0", "netns", there)
	run(t, "ip", "address", "add", uplink+"/32", "dev", device)
	run(t, "ip", "link", "set", device, "up")
	run(t, "ip", "route", "add", address+"/32", "dev", device)
	n.in(t, func() {
		run(t, "ip", "link", "set", "lo", "up")
		run(t, "ip", "address", "add", address+"/32", "dev", "eth0")
		run(t, "ip", "link", "set", "eth0", "up")
		run(t, "ip", "route", "add", uplink+"/32", "dev", "eth0")
		run(t, "ip", "route", "add", "default", "via", uplink)
	})
	return n
}

// in does something in the network: what is opened and what is started there stays there.
func (n *network) in(t testing.TB, do func()) {
	t.Helper()
	apart(t, func() {
		if err := unix.Setns(int(n.file.Fd()), unix.CLONE_NEWNET); err != nil {
			t.Errorf("entering the network of %s: %v", n.address, err)
			return
		}
		do()
	})
}

// apart does something with a thread that may change its network, and comes back.
func apart(t testing.TB, do func()) {
	t.Helper()
	runtime.LockOSThread()
	home := open(t, "/proc/thread-self/ns/net")
	defer func() {
		if err := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); err == nil {
			runtime.UnlockOSThread() // or else the thread ends with the goroutine
		}
		_ = home.Close()
	}()
	do()
}

func open(t testing.TB, path string) *os.File {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Errorf("opening a network: %v", err)
	}
	return file
}

func run(t testing.TB, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v: %s", name, strings.Join(args, " "), err, out)
	}
}
