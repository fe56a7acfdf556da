// Package sandbox runs a program that may burn all the time and memory it gets,
// such as the evaluation of somebody else's CUE, which nothing can stop from
// inside. The program is a child process: it reads its input, writes its output,
// and is killed when it takes more than it may.
package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// Limits bound a child process. The zero value of a field means no bound.
type Limits struct {
	Wall   time.Duration // from start to end
	CPU    time.Duration // of all its threads, in whole seconds; where the system counts it
	Memory int64         // bytes it may hold, looked at every few milliseconds; where the system tells
	Output int           // bytes it may write
}

// LimitError is returned for a child that took more than it may.
type LimitError struct{ What string }

// Error says what it took too much of.
func (l *LimitError) Error() string { return "took more than " + l.What }

// pollInterval is how often a child's memory is looked at. A program that makes
// memory as fast as it can makes some tens of megabytes meanwhile.
const pollInterval = 10 * time.Millisecond

// Run starts a program with an empty environment, gives it input, and returns
// what it writes. An error that is no *LimitError has what the program wrote to
// its standard error.
func Run(ctx context.Context, limits Limits, input []byte, name string, args ...string) ([]byte, error) {
	if limits.Wall > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limits.Wall, &LimitError{limits.Wall.String()})
		defer cancel()
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var stderr tail
	stdout := &capped{most: limits.Output, full: func() { stop(&LimitError{fmt.Sprintf("%d MiB of output", limits.Output>>20)}) }}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = []string{}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), stdout, &stderr
	cmd.WaitDelay = time.Second
	restrict(cmd)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	boundCPU(cmd.Process.Pid, limits.CPU)
	go watch(ctx, cmd.Process.Pid, limits.Memory, func() { stop(&LimitError{fmt.Sprintf("%d MiB of memory", limits.Memory>>20)}) })
	err := cmd.Wait()
	return stdout.buffer.Bytes(), verdict(ctx, cmd, err, limits, stderr.buffer.String())
}

// verdict finds out why a child ended.
func verdict(ctx context.Context, cmd *exec.Cmd, err error, limits Limits, stderr string) error {
	var limit *LimitError
	switch {
	case errors.As(context.Cause(ctx), &limit):
		return limit
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil:
		return nil
	case limits.CPU > 0 && cmd.ProcessState != nil && used(cmd.ProcessState) >= limits.CPU/2:
		// The kernel kills it by a clock that is ahead of what it reports, on a busy machine by a quarter.
		return &LimitError{limits.CPU.String() + " of CPU time"}
	}
	return fmt.Errorf("%w: %s (%s)", err, stderr, used(cmd.ProcessState))
}

func used(state *os.ProcessState) time.Duration { return state.SystemTime() + state.UserTime() }

// watch calls full as soon as a process holds more memory than it may.
func watch(ctx context.Context, pid int, most int64, full func()) {
	if most <= 0 {
		return
	}
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if resident(pid) > most {
				full()
				return
			}
		}
	}
}

// capped keeps output up to a bound. It is no bytes.Buffer, which would read from a
// pipe by itself, past the bound.
type capped struct {
	buffer bytes.Buffer
	most   int
	full   func()
}

// Write keeps what fits, and tells once there is more.
func (c *capped) Write(p []byte) (int, error) {
	if c.most > 0 && c.buffer.Len()+len(p) > c.most {
		c.full()
		return 0, errors.New("too much output")
	}
	return c.buffer.Write(p)
}

// tail keeps the first bytes of what a program complains about.
type tail struct{ buffer bytes.Buffer }

const maxComplaint = 2000 // bytes

// Write drops what is beyond the bound.
func (t *tail) Write(p []byte) (int, error) {
	if room := maxComplaint - t.buffer.Len(); room > 0 {
		t.buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}
