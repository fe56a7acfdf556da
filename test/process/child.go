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

// WrapperScript returns a shell script that runs the program at the path "binary". If the Linux tool setpriv is
// installed, the script starts the program with setpriv. In this case, the kernel kills the program when the process
// that started the script ends. Without setpriv, the program survives a test that panics or times out, because such a
// test runs no cleanup code.
func WrapperScript(binary string) string {
	if setpriv, err := exec.LookPath("setpriv"); err == nil {
		return fmt.Sprintf("#!/bin/sh\nexec '%s' --pdeathsig KILL -- '%s' \"$@\"\n", setpriv, binary)
	}
	return fmt.Sprintf("#!/bin/sh\nexec '%s' \"$@\"\n", binary)
}

// Child is a server that this program started as a child process.
type Child struct {
	name string
	log  string
	cmd  *exec.Cmd
	done chan struct{} // the channel is closed when the process has ended
}

// Run starts the command and writes its output to the file "log". The log is complete once the child has ended.
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

// LogPath returns the path of the file with the child's output.
func (c *Child) LogPath() string { return c.log }

// String returns the name of the child and, if it has ended, its exit status.
func (c *Child) String() string {
	if c.Ended() {
		return fmt.Sprintf("%s (%s)", c.name, c.cmd.ProcessState)
	}
	return c.name
}

// Ended reports whether the process has ended.
func (c *Child) Ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// Stop terminates the process. If the process still runs after 10 seconds, Stop kills it. Stop fails if the process
// had already ended, because a crashed server must not go unnoticed.
func (c *Child) Stop() error {
	if c.Ended() {
		return fmt.Errorf("%s ended before it was stopped: %s", c, Tail(c.log))
	}
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stopping %s: %w", c.name, err)
	}
	select {
	case <-c.done:
	case <-time.After(stopTimeout):
		_ = c.cmd.Process.Kill()
		<-c.done
	}
	return nil
}
