package process

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestEarlyExitIsReportedWithStatusAndLog(t *testing.T) {
	p := runScript(t, "echo one; echo the port is taken >&2; exit 3")
	err := WaitFor(t.Context(), p, neverReady)
	for _, want := range []string{"exit status 3", p.log, "the port is taken"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("WaitFor() = %v, want an error with %q", err, want)
		}
	}
	if err := p.Stop(); err == nil {
		t.Error("Stop() of a server that had ended = nil, want an error")
	}
}

func TestWaitForStopsAtTheDeadline(t *testing.T) {
	p := runScript(t, "echo still thinking; exec sleep 60")
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := WaitFor(ctx, p, neverReady); !errors.Is(err, errNotReady) || !strings.Contains(err.Error(), "still thinking") {
		t.Errorf("WaitFor() = %v, want the last error and the log", err)
	}
	if err := p.Stop(); err != nil || !p.Ended() {
		t.Errorf("Stop() = %v, ended %v", err, p.Ended())
	}
}

func TestServerDiesWithItsParent(t *testing.T) {
	if _, err := exec.LookPath("setpriv"); err != nil {
		if runtime.GOOS == "linux" {
			t.Fatal("setpriv is missing: install util-linux")
		}
		t.Skip("only Linux can kill a process when its parent ends")
	}
	dir := t.TempDir()
	start, pid := filepath.Join(dir, "sleep.sh"), filepath.Join(dir, "pid")
	if err := os.WriteFile(start, []byte(WrapperScript("/bin/sleep")), 0o700); err != nil {
		t.Fatal(err)
	}
	// In the child process, setpriv runs before "sleep". setpriv gives an instruction to the kernel: if the parent
	// process ends, kill the child process. The parent process ends only after "sleep" has started, so the kernel
	// already has this instruction.
	parent := runScript(t, "'"+start+"' 60 & echo $! >'"+pid+"'; until grep -qx sleep /proc/$!/comm; do sleep 0.02; done")
	<-parent.done
	child, err := os.ReadFile(pid)
	if err != nil {
		t.Fatal(err)
	}
	id, err := strconv.Atoi(strings.TrimSpace(string(child)))
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(stopTimeout); ; time.Sleep(pollInterval) {
		if _, err := identify(id); err != nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the child still runs")
		}
	}
}

var errNotReady = errors.New("not ready")

func neverReady(context.Context) error { return errNotReady }

func runScript(t *testing.T, script string) *Child {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "server.log"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := Run(exec.Command("sh", "-c", script), log)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
