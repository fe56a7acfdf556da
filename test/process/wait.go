package process

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"time"
)

const (
	pollInterval = 50 * time.Millisecond
	stopTimeout  = 10 * time.Second
	tailLines    = 15
)

// Server is a process that becomes ready some time after its start.
type Server interface {
	// Ended reports whether the process has ended.
	Ended() bool
	// String returns the name of the server. If the server has ended, the returned text can also contain the exit
	// status.
	String() string
	// LogPath returns the path of the file with the server's output.
	LogPath() string
}

// WaitFor calls the function "ready" repeatedly, until the function succeeds, the server ends or the context ends. The
// errors of WaitFor include the last lines of the server's log.
func WaitFor(ctx context.Context, s Server, ready func(context.Context) error) error {
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		if s.Ended() {
			return fmt.Errorf("%s ended before it was ready: %s", s, Tail(s.LogPath()))
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w: %s", s, err, Tail(s.LogPath()))
		case <-time.After(pollInterval):
		}
	}
}

// Tail returns the path and the last lines of a log, for error messages.
func Tail(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	lines = lines[max(0, len(lines)-tailLines):]
	return fmt.Sprintf("the end of %s:\n%s\n", path, bytes.Join(lines, []byte("\n")))
}
