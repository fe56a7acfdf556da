package controlplane

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestAServerThatEndsEarlyShowsWhatItSaid(t *testing.T) {
	p := runScript(t, "echo one; echo the port is taken >&2; exit 3")
	err := p.waitFor(t.Context(), never)
	for _, want := range []string{"exit status 3", p.log, "the port is taken"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("waitFor() = %v, want an error with %q", err, want)
		}
	}
	if err := p.stop(); err == nil {
		t.Error("stop() of a server that had ended by itself gave no error")
	}
}

func TestAServerThatIsNeverReadyIsGivenUp(t *testing.T) {
	p := runScript(t, "echo still thinking; exec sleep 60")
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := p.waitFor(ctx, never); !errors.Is(err, errNever) || !strings.Contains(err.Error(), "still thinking") {
		t.Errorf("waitFor() = %v, want the last refusal and the log", err)
	}
	if err := p.stop(); err != nil || !p.ended() {
		t.Errorf("stop() = %v, ended %v", err, p.ended())
	}
}

func TestAServerDiesWithTheTestBinary(t *testing.T) {
	if _, err := exec.LookPath("setpriv"); err != nil {
		if runtime.GOOS == "linux" {
			t.Fatal("setpriv is missing: install util-linux")
		}
		t.Skip("only Linux can tie a process to its parent")
	}
	dir := t.TempDir()
	start, pid := filepath.Join(dir, "sleep.sh"), filepath.Join(dir, "pid")
	if err := os.WriteFile(start, []byte(mortal("/bin/sleep")), 0o700); err != nil {
		t.Fatal(err)
	}
	parent := runScript(t, "'"+start+"' 60 & echo $! >'"+pid+"'; sleep 0.5")
	<-parent.done
	child, err := os.ReadFile(pid)
	if err != nil {
		t.Fatal(err)
	}
	Eventually(t, func(context.Context) error {
		state, err := os.ReadFile(filepath.Join("/proc", strings.TrimSpace(string(child)), "stat"))
		if err == nil && !strings.Contains(string(state), ") Z ") { // a dead child may not be buried yet
			return errors.New("the child still runs")
		}
		return nil
	})
}

var errNever = errors.New("not ready")

func never(context.Context) error { return errNever }

// runScript runs a shell script as a server.
func runScript(t *testing.T, script string) *process {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "server.log"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := run(exec.Command("sh", "-c", script), log)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
