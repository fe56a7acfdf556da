//go:build linux

package crash

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/trainyard/trainyard/bundles"
)

// orderVariable is the environment variable that contains the instructions for a child process as JSON. If the
// variable is set, the test binary follows the instructions in the variable, and runs no tests.
const orderVariable = "TRAINYARD_CRASH_ORDER"

// order contains the instructions for a child process.
type order struct {
	Dir      string
	Trees    []int         // trees to write, in this order
	Files    int           // number of files in each tree
	Rounds   int           // how often to write all trees; 0 means once
	Pause    time.Duration // between two trees
	Renaming bool          // forbid atomic exchanges
	Keep     bool          // keep unknown files
}

func TestMain(m *testing.M) {
	text := os.Getenv(orderVariable)
	if text == "" {
		os.Exit(m.Run())
	}
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := o.run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run writes the trees in o.Trees to the folder o.Dir, with the same code as `trainyard generate`. run uses
// only one thread, so that strace can count the system calls.
func (o order) run(ctx context.Context) error {
	runtime.LockOSThread()
	if o.Renaming {
		if err := forbidExchange(); err != nil {
			return fmt.Errorf("forbidding exchanges: %w", err)
		}
	}
	for range max(1, o.Rounds) {
		for _, n := range o.Trees {
			if err := o.write(ctx, newTree(n, o.Files)); err != nil {
				return err
			}
			time.Sleep(o.Pause)
		}
	}
	return nil
}

func (o order) write(ctx context.Context, tree bundles.Tree) error {
	w := &bundles.Writer{KeepUnknown: o.Keep, Note: func(note string) { fmt.Fprintln(os.Stderr, "note:", note) }}
	defer w.Close()
	plan, err := w.Plan(ctx, tree, o.Dir)
	if err != nil {
		return err
	}
	_, err = plan.Write(ctx)
	return err
}

// forbidExchange makes atomic exchanges fail, as on a file system that does not support atomic exchanges.
// forbidExchange uses seccomp, so that the tested code needs no option for tests.
func forbidExchange() error {
	const (
		load     = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		ifEqual  = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		answer   = unix.BPF_RET | unix.BPF_K
		call     = 0        // offset of the system call number in struct seccomp_data
		argument = 16 + 4*8 // offset of the fifth argument of the system call, which contains the flags
	)
	filter := []unix.SockFilter{
		{Code: load, K: call},
		{Code: ifEqual, K: unix.SYS_RENAMEAT2, Jf: 3},
		{Code: load, K: argument},
		{Code: ifEqual, K: unix.RENAME_EXCHANGE, Jf: 1},
		{Code: answer, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EINVAL)},
		{Code: answer, K: unix.SECCOMP_RET_ALLOW},
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	runtime.KeepAlive(filter)
	if errno != 0 {
		return errno
	}
	return nil
}

// childCommand returns a command that starts this test binary as a child process with the instructions in o. If the
// child process must run under strace, the parameter "before" is the command line of strace. In this case, the returned
// command starts strace, and strace starts the child process.
func (o order) childCommand(t *testing.T, before ...string) *exec.Cmd {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	words := append(before, program)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Env = append(os.Environ(), orderVariable+"="+string(text))
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// execute runs a child process as the given user, or as the current user if the argument "as" is nil.
func (o order) execute(t *testing.T, as *syscall.Credential) (string, int) {
	t.Helper()
	cmd := o.childCommand(t)
	if as != nil {
		// The user in the argument "as" cannot enter the folder of the test binary. Therefore the method creates a hard
		// link to the test binary in a folder that the user can enter. The child process runs the test binary through
		// this link.
		cmd.Path = filepath.Join(openFolder(t), "run")
		if err := os.Link(cmd.Args[0], cmd.Path); err != nil {
			t.Fatal(err)
		}
		cmd.SysProcAttr.Credential = as
	}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func (o order) mustRun(t *testing.T) {
	t.Helper()
	if out, code := o.execute(t, nil); code != 0 || out != "" {
		t.Fatalf("writing %v ended with %d: %s", o.Trees, code, out)
	}
}
