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

// Daemon is a server that outlives the program that starts it. A file records the process id and start time of the
// server, so that a later process with the same id is not mistaken for the server. Daemon works only on Linux,
// because it reads /proc.
type Daemon struct {
	// Name is the name of the server, for error messages.
	Name string
	// The field "Record" is the path of the file that contains the process id and start time of the server.
	Record string
	// Log is the path of the file with the server's output. Each start of the server appends to the log file.
	Log string
}

// identity identifies a process uniquely, even if the machine has restarted or has reused the process id.
type identity struct {
	PID     int    `json:"pid"`
	Started uint64 `json:"started"` // ticks since boot
	Boot    string `json:"boot"`
}

// Start runs the command in a new session. The daemon must not run already.
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
	// Without Wait, a child that ends while this program runs would stay a zombie.
	go func() { _ = cmd.Wait() }()
	if err == nil {
		err = d.writeRecord(id)
	}
	if err != nil {
		_ = cmd.Process.Kill()
		return fmt.Errorf("recording %s: %w", d.Name, err)
	}
	return nil
}

func (d Daemon) writeRecord(id identity) error {
	text, err := json.Marshal(id)
	if err != nil {
		return err
	}
	return os.WriteFile(d.Record, text, 0o600)
}

// LogPath returns the path of the file with the daemon's output.
func (d Daemon) LogPath() string { return d.Log }

// String returns the name of the daemon.
func (d Daemon) String() string { return d.Name }

// Ended reports whether the daemon has ended or was never started.
func (d Daemon) Ended() bool { return d.PID() == 0 }

// PID returns the id of the running process, or 0 if the daemon does not run.
func (d Daemon) PID() int {
	text, err := os.ReadFile(d.Record)
	var recorded identity
	if err != nil || json.Unmarshal(text, &recorded) != nil {
		return 0
	}
	if now, err := identify(recorded.PID); err != nil || now != recorded {
		return 0
	}
	return recorded.PID
}

// Stop terminates the daemon, and removes the file that records the daemon's process id. If the process still runs
// after 10 seconds, Stop kills it. Stop also succeeds if the process does not run.
func (d Daemon) Stop() error { return d.end(syscall.SIGTERM) }

// Kill kills the daemon, and removes the file that records the daemon's process id. Kill also
// succeeds if the process does not run.
func (d Daemon) Kill() error { return d.end(syscall.SIGKILL) }

func (d Daemon) end(first syscall.Signal) error {
	err := d.signal(first)
	for deadline := time.Now().Add(stopTimeout); err == nil && !d.Ended(); time.Sleep(pollInterval) {
		if time.Now().After(deadline) {
			err = d.signal(syscall.SIGKILL)
		}
	}
	if err != nil {
		return fmt.Errorf("stopping %s: %w", d.Name, err)
	}
	if err := os.Remove(d.Record); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing the record of %s: %w", d.Name, err)
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

// identify reads the identity of a process from /proc. identify fails if the process is a zombie.
func identify(pid int) (identity, error) {
	ticks, err := readStart(filepath.Join("/proc", strconv.Itoa(pid)))
	if err != nil {
		return identity{}, err
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return identity{PID: pid, Started: ticks, Boot: strings.TrimSpace(string(boot))}, err
}

// readStart reads the start time of a process, in ticks since boot, from the folder of the process in /proc. readStart
// fails if the process is a zombie.
func readStart(dir string) (uint64, error) {
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return 0, err
	}
	// The second field of /proc/PID/stat is the program's name in parentheses (see proc(5)). The name can contain
	// blanks, so the code splits only the text after the name into fields.
	_, after, _ := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), " ")
	fields := strings.Fields(after)
	const state, started = 0, 22 - 3 // proc(5) counts fields from 1, and fields[0] is the third field
	if len(fields) <= started || fields[state] == "Z" {
		return 0, fs.ErrNotExist
	}
	return strconv.ParseUint(fields[started], 10, 64)
}
