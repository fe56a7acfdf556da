package controlplane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	pollInterval = 50 * time.Millisecond
	stopPatience = 10 * time.Second
	tailLines    = 15
)

// station is what one server gets before it starts: a way to start it, a folder, a log.
type station struct {
	start string
	dir   string
	log   *os.File
}

// prepare makes the folder and the log of the server that binary runs.
func (cp *ControlPlane) prepare(binary string) (station, error) {
	name := filepath.Base(binary)
	s := station{dir: filepath.Join(cp.dir, name), start: filepath.Join(cp.dir, name+".sh")}
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		return s, fmt.Errorf("preparing %s: %w", name, err)
	}
	if err := os.WriteFile(s.start, []byte(mortal(binary)), 0o700); err != nil {
		return s, fmt.Errorf("preparing %s: %w", name, err)
	}
	log, err := os.Create(filepath.Join(cp.dir, name+".log"))
	if err != nil {
		return s, fmt.Errorf("preparing %s: %w", name, err)
	}
	s.log = log
	cp.logs = append(cp.logs, log.Name())
	return s, nil
}

// mortal is a script that becomes binary and, where the system can do that, dies with the
// test binary however that ends: a timeout or a panic runs no clean-up code.
func mortal(binary string) string {
	if setpriv, err := exec.LookPath("setpriv"); err == nil {
		return fmt.Sprintf("#!/bin/sh\nexec '%s' --pdeathsig KILL -- '%s' \"$@\"\n", setpriv, binary)
	}
	return fmt.Sprintf("#!/bin/sh\nexec '%s' \"$@\"\n", binary)
}

// process is a running server.
type process struct {
	name string
	log  string
	cmd  *exec.Cmd
	done chan struct{} // closed once the process has ended
}

// run starts cmd with its output in log. The log is complete once done is closed.
func run(cmd *exec.Cmd, log *os.File) (*process, error) {
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("running %s: %w", cmd.Path, err)
	}
	name := strings.TrimSuffix(filepath.Base(cmd.Path), ".sh")
	p := &process{name: name, log: log.Name(), cmd: cmd, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		_ = cmd.Wait()
		_ = log.Close()
	}()
	return p, nil
}

// waitFor polls ready until it succeeds, the process ends or ctx is done.
func (p *process) waitFor(ctx context.Context, ready func(context.Context) error) error {
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("%s ended before it was ready (%s): %s", p.name, p.cmd.ProcessState, tail(p.log))
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w: %s", p.name, err, tail(p.log))
		case <-time.After(pollInterval):
		}
	}
}

// ended reports whether the process is gone.
func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// stop asks the process to end and kills it when it does not. It is an error when the
// process had ended by itself: a crashed controller must not go unnoticed.
func (p *process) stop() error {
	if p.ended() {
		return fmt.Errorf("%s had ended by itself (%s): %s", p.name, p.cmd.ProcessState, tail(p.log))
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stopping %s: %w", p.name, err)
	}
	select {
	case <-p.done:
	case <-time.After(stopPatience):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
	return nil
}

// tail is the end of a log under a line with its path, for error messages.
func tail(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	lines = lines[max(0, len(lines)-tailLines):]
	return fmt.Sprintf("the end of %s:\n%s\n", path, bytes.Join(lines, []byte("\n")))
}
