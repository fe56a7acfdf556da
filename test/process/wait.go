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
	stopPatience = 10 * time.Second
	tailLines    = 15
)

// Server is a process that gets ready some time after its start.
type Server interface {
	// Ended reports whether the process is gone.
	Ended() bool
	// String names the server and, if it has ended, says how.
	String() string
	// LogPath is the file with what it said.
	LogPath() string
}

// WaitFor polls ready until it succeeds, the server ends or ctx is done. Its errors show
// the end of the log.
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

// Tail is the end of a log under a line with its path, for error messages.
func Tail(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	lines = lines[max(0, len(lines)-tailLines):]
	return fmt.Sprintf("the end of %s:\n%s\n", path, bytes.Join(lines, []byte("\n")))
}
