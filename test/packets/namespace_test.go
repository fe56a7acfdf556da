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

// uplinkAddress is the address that the machine has on all of its links to hosts.
const uplinkAddress = "169.254.1.1"

// network is the network namespace of one host, with a veth pair to the machine.
type network struct {
	file      *os.File // keeps the namespace alive
	address   string
	listeners []io.Closer
}

func newNetwork(t *testing.T, number int, address string) *network {
	t.Helper()
	device := fmt.Sprintf("pod%d", number)
	n := &network{address: address}
	onLockedThread(t, func() {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			t.Fatalf("creating a network namespace: %v", err)
		}
		n.file = open(t, "/proc/thread-self/ns/net")
	})
	t.Cleanup(func() { _ = n.file.Close() })
	namespace := fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), n.file.Fd())
	run(t, "ip", "link", "add", device, "type", "veth", "peer", "name", "eth0", "netns", namespace)
	run(t, "ip", "address", "add", uplinkAddress+"/32", "dev", device)
	run(t, "ip", "link", "set", device, "up")
	run(t, "ip", "route", "add", address+"/32", "dev", device)
	n.runInside(t, func() {
		run(t, "ip", "link", "set", "lo", "up")
		run(t, "ip", "address", "add", address+"/32", "dev", "eth0")
		run(t, "ip", "link", "set", "eth0", "up")
		run(t, "ip", "route", "add", uplinkAddress+"/32", "dev", "eth0")
		run(t, "ip", "route", "add", "default", "via", uplinkAddress)
	})
	return n
}

// runInside calls the function "do" inside the network namespace. Sockets and processes that the function creates stay
// in this namespace after the function has returned.
func (n *network) runInside(t testing.TB, do func()) {
	t.Helper()
	onLockedThread(t, func() {
		if err := unix.Setns(int(n.file.Fd()), unix.CLONE_NEWNET); err != nil {
			t.Errorf("entering the network namespace of %s: %v", n.address, err)
			return
		}
		do()
	})
}

// onLockedThread calls the function "do", which may change the network namespace of the current thread.
// After the function returns, onLockedThread restores the namespace.
func onLockedThread(t testing.TB, do func()) {
	t.Helper()
	runtime.LockOSThread()
	original := open(t, "/proc/thread-self/ns/net")
	defer func() {
		if err := unix.Setns(int(original.Fd()), unix.CLONE_NEWNET); err == nil {
			runtime.UnlockOSThread() // if Setns fails, the thread stays locked, and ends with its goroutine
		}
		_ = original.Close()
	}()
	do()
}

func open(t testing.TB, path string) *os.File {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Errorf("opening a network namespace: %v", err)
	}
	return file
}

func run(t testing.TB, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v: %s", name, strings.Join(args, " "), err, out)
	}
}
