package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Mortal is a shell script that becomes binary and, where the system can do that, dies with
// the program that runs it however that ends: a timeout or a panic runs no clean-up code.
func Mortal(binary string) string {
	if setpriv, err := exec.LookPath("setpriv"); err == nil {
		return fmt.Sprintf("#!/bin/sh\nexec '%s' --pdeathsig KILL -- '%s' \"$@\"\n", setpriv, binary)
	}
	return fmt.Sprintf("#!/bin/sh\nexec '%s' \"$@\"\n", binary)
}

// Child is a running server that this program has started.
type Child struct {
	name string
	log  string
	cmd  *exec.Cmd
	done chan struct{} // closed once the process has ended
}

// Run starts cmd with its output in log. The log is complete once the child has ended.
func Run(cmd *exec.Cmd, log *os.File) (*Child, error) {
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("running %s: %w", cmd.Path, err)
	}
	name := strings.TrimSuffix(filepath.Base(cmd.Path), ".sh")
	c := &Child{name: name, log: log.Name(), cmd: cmd, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		_ = cmd.Wait()
		_ = log.Close()
	}()
	return c, nil
}

// LogPath is the file with what the child said.
func (c *Child) LogPath() string { return c.log }

// String names the child and, if it has ended, says how.
func (c *Child) String() string {
	if c.Ended() {
		return fmt.Sprintf("%s (%s)", c.name, c.cmd.ProcessState)
	}
	return c.name
}

// Ended reports whether the process is gone.
func (c *Child) Ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// Stop asks the process to end and kills it when it does not within 10 seconds. It is an
// error when the process had ended by itself: a crashed server must not go unnoticed.
func (c *Child) Stop() error {
	if c.Ended() {
		return fmt.Errorf("%s had ended by itself: %s", c, Tail(c.log))
	}
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stopping %s: %w", c.name, err)
	}
	select {
	case <-c.done:
	case <-time.After(stopPatience):
		_ = c.cmd.Process.Kill()
		<-c.done
	}
	return nil
}
