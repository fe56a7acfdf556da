//go:build linux

package podrunner

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// UID and GID are the user and group of every container. UID and GID resemble the ids that OpenShift assigns to pods under
// its SecurityContextConstraints restricted-v2.
const (
	UID = 1000680000
	GID = 0
)

// stageVariable is the environment variable that tells a process of the test binary what to do: run the tests, or become a
// container. The first process, for which the variable is not set, starts the test binary again in new namespaces. The
// second process runs the tests, and starts the test binary once more for each container.
const (
	stageVariable  = "TRAINYARD_PODRUNNER_STAGE"
	stageTests     = "tests"
	stageContainer = "container"
)

const procFlags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC

const advice = `These tests start pods and need Linux with user namespaces for everyone:
  sysctl user.max_user_namespaces                            must not be 0
  sysctl kernel.unprivileged_userns_clone                    must be 1, if it exists
  sysctl kernel.apparmor_restrict_unprivileged_userns        must be 0, if it exists
  inside a container: no seccomp filter and no masked /proc (docker run --privileged)`

// Main runs the tests of a package in new Linux namespaces, and returns the exit code for os.Exit. When the tests end,
// the kernel kills all processes that the tests started. This is also true if a panic or a timeout ends the tests.
func Main(m *testing.M) int { return Around(m.Run) }

// Around does the same as Main, with one difference: Around calls the function "run" instead of m.Run. For example, the
// function "run" can call controlplane.Main.
func Around(run func() int) int {
	switch os.Getenv(stageVariable) {
	case stageTests:
		_ = os.Unsetenv(stageVariable)
		if err := initialize(); err != nil {
			return setupFailed(fmt.Errorf("entering namespaces: %w\n%s", err, advice))
		}
		return run()
	case stageContainer:
		return setupFailed(becomeContainer())
	default:
		return enterNamespaces()
	}
}

// enterNamespaces runs this program again as process 1 of new namespaces. When process 1 ends, the kernel kills all
// other processes in its namespaces.
func enterNamespaces() int {
	runtime.LockOSThread() // The kernel sends Pdeathsig when this thread ends, so the thread must not end early.
	tests := exec.Command("/proc/self/exe")
	tests.Args = os.Args
	tests.Env = append(os.Environ(), stageVariable+"="+stageTests)
	tests.Stdin, tests.Stdout, tests.Stderr = os.Stdin, os.Stdout, os.Stderr
	tests.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWIPC,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: UID, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: GID, HostID: os.Getegid(), Size: 1}},
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP},
		Pdeathsig:   unix.SIGKILL,
	}
	err := tests.Run()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		return max(exit.ExitCode(), 1)
	}
	if err != nil {
		return setupFailed(fmt.Errorf("creating namespaces: %w\n%s", err, advice))
	}
	return 0
}

// initialize mounts a /proc that shows the processes of the new namespaces, and brings up the loopback interface.
func initialize() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making mounts private: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", procFlags, ""); err != nil {
		return fmt.Errorf("mounting /proc: %w", err)
	}
	return raiseLoopback()
}

// raiseLoopback brings up the loopback interface, which is the only interface of a new network namespace.
func raiseLoopback() error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("opening a socket: %w", err)
	}
	defer func() { _ = unix.Close(socket) }()
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return fmt.Errorf("naming lo: %w", err)
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, request); err != nil {
		return fmt.Errorf("raising lo: %w", err)
	}
	return nil
}

// setupFailed prints the error and returns the exit code of a failed setup.
func setupFailed(err error) int {
	fmt.Fprintln(os.Stderr, setupPrefix+err.Error())
	return setupCode
}
