//go:build linux

package process

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestDaemonIsFoundByItsRecord(t *testing.T) {
	d := startDaemon(t, "trap 'echo goodbye; exit' TERM; echo hello; while :; do sleep 0.05; done")
	awaitLog(t, d.Log, "hello")
	again := Daemon{Name: d.Name, Record: d.Record, Log: d.Log}
	if again.Ended() || again.PID() == 0 {
		t.Fatal("the running daemon is not found by its record")
	}
	if group, err := unix.Getsid(again.PID()); err != nil || group != again.PID() {
		t.Errorf("the daemon has session %d, %v, want a new session", group, err)
	}
	if err := again.Stop(); err != nil || !d.Ended() {
		t.Errorf("Stop() = %v, ended %v", err, d.Ended())
	}
	if log := Tail(d.Log); !strings.Contains(log, "hello\ngoodbye") {
		t.Errorf("the daemon did not handle SIGTERM: %s", log)
	}
	if err := again.Stop(); err != nil {
		t.Errorf("stopping again: %v", err)
	}
}

func TestReusedProcessIDIsNotKilled(t *testing.T) {
	d := startDaemon(t, "exec sleep 60")
	id, err := identify(d.PID())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(id.PID, syscall.SIGKILL) })
	for name, change := range map[string]func(*identity){
		"another start time": func(i *identity) { i.Started++ },
		"before a reboot":    func(i *identity) { i.Boot = "another" },
	} {
		t.Run(name, func(t *testing.T) {
			other := id
			change(&other)
			text, err := json.Marshal(other)
			if err != nil {
				t.Fatal(err)
			}
			stale := Daemon{Name: "stale", Record: filepath.Join(t.TempDir(), "record"), Log: d.Log}
			if err := os.WriteFile(stale.Record, text, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := stale.Stop(); err != nil || d.Ended() {
				t.Errorf("Stop() = %v, and the process of another daemon ended: %v, want that process to run", err, d.Ended())
			}
		})
	}
}

// awaitLog waits until the log at the given path contains the text. A test script prints this text after it has set its
// signal handlers.
func awaitLog(t *testing.T, path, text string) {
	t.Helper()
	for deadline := time.Now().Add(stopTimeout); !strings.Contains(Tail(path), text); time.Sleep(pollInterval) {
		if time.Now().After(deadline) {
			t.Fatalf("%q is not in the log after %s: %s", text, stopTimeout, Tail(path))
		}
	}
}

func startDaemon(t *testing.T, script string) Daemon {
	t.Helper()
	dir := t.TempDir()
	d := Daemon{Name: "daemon", Record: filepath.Join(dir, "record"), Log: filepath.Join(dir, "log")}
	if err := d.Start(exec.Command("sh", "-c", script)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Stop() })
	return d
}
