package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Daemon is a server that outlives the program that starts it. A file remembers which
// process it is: by its id and by the moment it started, so that another process that got
// the same id is never taken for it. It needs Linux's /proc.
type Daemon struct {
	// Name is that of the server.
	Name string
	// Record is the path of the file that remembers the process.
	Record string
	// Log is the path of the file with what the server says. A new start goes on in it.
	Log string
}

// identity tells a process from all others since the machine started.
type identity struct {
	PID     int    `json:"pid"`
	Started uint64 `json:"started"` // ticks since boot
	Boot    string `json:"boot"`
}

// Start runs cmd in a session of its own. It must not run already.
func (d Daemon) Start(cmd *exec.Cmd) error {
	log, err := os.OpenFile(d.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("opening the log of %s: %w", d.Name, err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("running %s: %w", d.Name, err)
	}
	id, err := identify(cmd.Process.Pid)
	// Whoever does not wait for a child that ends early keeps it as a zombie.
	go func() { _ = cmd.Wait() }()
	if err == nil {
		err = d.remember(id)
	}
	if err != nil {
		_ = cmd.Process.Kill()
		return fmt.Errorf("remembering %s: %w", d.Name, err)
	}
	return nil
}

func (d Daemon) remember(id identity) error {
	text, err := json.Marshal(id)
	if err != nil {
		return err
	}
	return os.WriteFile(d.Record, text, 0o600)
}

// LogPath is the file with what the daemon says.
func (d Daemon) LogPath() string { return d.Log }

// String names the daemon.
func (d Daemon) String() string { return d.Name }

// Ended reports whether the process is gone, or was never there.
func (d Daemon) Ended() bool { return d.PID() == 0 }

// PID is the id of the running process, or 0.
func (d Daemon) PID() int {
	text, err := os.ReadFile(d.Record)
	var was identity
	if err != nil || json.Unmarshal(text, &was) != nil {
		return 0
	}
	if now, err := identify(was.PID); err != nil || now != was {
		return 0
	}
	return was.PID
}

// Stop asks the process to end, kills it when it does not within 10 seconds, and forgets it.
// Stopping what does not run is no error.
func (d Daemon) Stop() error { return d.end(syscall.SIGTERM) }

// Kill ends the process without asking it, and forgets it. Killing what does not run is no error.
func (d Daemon) Kill() error { return d.end(syscall.SIGKILL) }

func (d Daemon) end(first syscall.Signal) error {
	err := d.signal(first)
	for deadline := time.Now().Add(stopPatience); err == nil && !d.Ended(); time.Sleep(pollInterval) {
		if time.Now().After(deadline) {
			err = d.signal(syscall.SIGKILL)
		}
	}
	if err != nil {
		return fmt.Errorf("stopping %s: %w", d.Name, err)
	}
	if err := os.Remove(d.Record); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forgetting %s: %w", d.Name, err)
	}
	return nil
}

func (d Daemon) signal(s syscall.Signal) error {
	pid := d.PID()
	if pid == 0 {
		return nil
	}
	if err := syscall.Kill(pid, s); !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}

// identify looks at a living process; a zombie is no longer one.
func identify(pid int) (identity, error) {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return identity{}, err
	}
	// The second field, a name in parentheses, may hold blanks (proc(5)).
	_, after, _ := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')'):]), " ")
	fields := strings.Fields(after)
	const state, started = 0, 22 - 3 // fields count from 1, and two are cut off
	if len(fields) <= started || fields[state] == "Z" {
		return identity{}, fs.ErrNotExist
	}
	ticks, err := strconv.ParseUint(fields[started], 10, 64)
	if err != nil {
		return identity{}, err
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return identity{PID: pid, Started: ticks, Boot: strings.TrimSpace(string(boot))}, err
}
