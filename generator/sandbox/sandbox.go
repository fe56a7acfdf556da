// Package sandbox runs a program, such as an evaluation of untrusted CUE, as a child process with limits on time,
// memory and output. The program reads standard input, writes standard output, and is killed when it exceeds a limit.
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

// Limits holds the limits of a child process. A field with the value 0 sets no limit.
type Limits struct {
	Wall   time.Duration // time from start to end
	CPU    time.Duration // CPU time of all threads, in whole seconds; only on Linux
	Memory int64         // bytes of resident memory, checked every few milliseconds; only on Linux
	Output int           // bytes on standard output
}

// LimitError reports that a child process exceeded a limit.
type LimitError struct{ What string }

// Error names the limit.
func (l *LimitError) Error() string { return "took more than " + l.What }

// pollInterval is the interval between memory checks. Between two memory checks, a program can allocate some tens of
// megabytes.
const pollInterval = 10 * time.Millisecond

// maxStderr is the maximum number of bytes that Run stores from a child's standard error.
const maxStderr = 2000

// Run starts a program with the given input and without environment variables, and returns the output of the
// program. If the child exceeds a limit, the error is a *LimitError. If the child fails for another reason than a
// limit, the error includes the first bytes that the child wrote to standard error.
func Run(ctx context.Context, limits Limits, input []byte, name string, args ...string) ([]byte, error) {
	if limits.Wall > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limits.Wall, &LimitError{limits.Wall.String()})
		defer cancel()
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	stderr := &buffer{max: maxStderr}
	stdout := &buffer{max: limits.Output, full: func() { stop(&LimitError{fmt.Sprintf("%d MiB of output", limits.Output>>20)}) }}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = []string{}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), stdout, stderr
	cmd.WaitDelay = time.Second
	killWithParent(cmd)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	limitCPU(cmd.Process.Pid, limits.CPU)
	go watchMemory(ctx, cmd.Process.Pid, limits.Memory, func() { stop(&LimitError{fmt.Sprintf("%d MiB of memory", limits.Memory>>20)}) })
	err := cmd.Wait()
	return stdout.bytes, exitError(ctx, cmd, err, limits, string(stderr.bytes))
}

func exitError(ctx context.Context, cmd *exec.Cmd, err error, limits Limits, stderr string) error {
	var limit *LimitError
	switch {
	case errors.As(context.Cause(ctx), &limit):
		return limit
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil:
		return nil
	case limits.CPU > 0 && cmd.ProcessState != nil && cpuTime(cmd.ProcessState) >= limits.CPU/2:
		// The kernel measures CPU time with two clocks. The kernel compares the first clock with the limit. After the
		// child has ended, the kernel reports the CPU time of the second clock. On a busy machine, the first clock can
		// be 25% ahead of the second clock. Therefore the reported CPU time of a killed child can be below the limit.
		// If a child fails and its reported CPU time is at least half of the limit, Run reports that the child exceeded
		// the CPU limit.
		return &LimitError{limits.CPU.String() + " of CPU time"}
	}
	return fmt.Errorf("%w: %s (%s)", err, stderr, cpuTime(cmd.ProcessState))
}

func cpuTime(state *os.ProcessState) time.Duration { return state.SystemTime() + state.UserTime() }

func watchMemory(ctx context.Context, pid int, limit int64, exceeded func()) {
	if limit <= 0 {
		return
	}
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if residentMemory(pid) > limit {
				exceeded()
				return
			}
		}
	}
}

// buffer stores the first bytes of a stream. A bytes.Buffer is not suitable, because a bytes.Buffer has the method
// ReadFrom. io.Copy would call ReadFrom, and ReadFrom reads a stream without a limit.
type buffer struct {
	bytes []byte
	max   int    // bytes; 0 for no limit
	full  func() // called if the stream is longer than max; if nil, the rest of the stream is dropped
}

// Write stores bytes up to the limit.
func (b *buffer) Write(p []byte) (int, error) {
	switch available := b.max - len(b.bytes); {
	case b.max <= 0 || len(p) <= available:
		b.bytes = append(b.bytes, p...)
	case b.full != nil:
		b.full()
		return 0, errors.New("too much output")
	default:
		b.bytes = append(b.bytes, p[:available]...)
	}
	return len(p), nil
}
