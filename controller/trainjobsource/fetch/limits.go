package fetch

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"
)

// Limits is the set of limits for the data and the time of one fetch. A fetch that exceeds a limit
// fails.
type Limits struct {
	Received int64         // bytes that the server sends, with all protocol overhead
	Refs     int64         // bytes of the server's list of branches and tags
	Objects  int           // files, folders and commits of a pack
	Object   int64         // bytes of one object, such as a file
	Inflated int64         // bytes of all objects together
	Time     time.Duration // of the whole fetch; the context can set a shorter time
	Answer   time.Duration // until the server begins to answer
}

// DefaultLimits allows repositories that are much larger than a repository of TrainJobs needs to be.
var DefaultLimits = Limits{
	Received: 64 << 20, Refs: 16 << 20, Objects: 100_000, Object: 16 << 20, Inflated: 128 << 20,
	Time: 10 * time.Minute, Answer: 30 * time.Second,
}

// orDefaults sets each limit that is zero to its default.
func (l Limits) orDefaults() Limits {
	return Limits{
		Received: cmp.Or(l.Received, DefaultLimits.Received),
		Refs:     cmp.Or(l.Refs, DefaultLimits.Refs),
		Objects:  cmp.Or(l.Objects, DefaultLimits.Objects),
		Object:   cmp.Or(l.Object, DefaultLimits.Object),
		Inflated: cmp.Or(l.Inflated, DefaultLimits.Inflated),
		Time:     cmp.Or(l.Time, DefaultLimits.Time),
		Answer:   cmp.Or(l.Answer, DefaultLimits.Answer),
	}
}

// budget is a counter for the bytes that all connections of a fetch receive.
type budget struct {
	limit int64
	used  atomic.Int64
}

func (b *budget) exceeded() bool  { return b.used.Load() > b.limit }
func (b *budget) message() string { return fmt.Sprintf("the server sent more than %s", size(b.limit)) }

// limitedConn is a connection that fails as soon as the budget is exceeded.
type limitedConn struct {
	net.Conn
	budget *budget
}

func (c limitedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.budget.used.Add(int64(n)); c.budget.exceeded() {
		return 0, errors.New(c.budget.message())
	}
	return n, err
}

// limitedReader reads from r. If r contains more than "left" bytes, reading fails with the error "err".
type limitedReader struct {
	r    io.Reader
	left int64
	err  error
}

func (l *limitedReader) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, l.err
	}
	return n, err
}

// size returns a number of bytes as text, such as "64 MiB".
func size(bytes int64) string {
	switch {
	case bytes >= 1<<20 && bytes%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", bytes>>20)
	case bytes >= 1<<10 && bytes%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", bytes>>10)
	}
	return fmt.Sprintf("%d bytes", bytes)
}
