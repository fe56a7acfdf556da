package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestMain runs the tests. If the first argument of this binary is "program", TestMain instead runs a function of the
// map "programs". The second argument is the key of this function.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "program" {
		programs[os.Args[2]]()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

var (
	sink   [][]byte
	burned int
)

var programs = map[string]func(){
	"echo":  func() { _, _ = io.Copy(os.Stdout, os.Stdin) },
	"fail":  func() { fmt.Fprintln(os.Stderr, "failure reason"); os.Exit(7) },
	"sleep": func() { time.Sleep(time.Minute) },
	"burn": func() {
		for i := 0; ; i++ {
			burned ^= i
		}
	},
	"grow": func() {
		for {
			block := make([]byte, 1<<20)
			for i := range block {
				block[i] = 1
			}
			sink = append(sink, block)
		}
	},
	"write": func() {
		for {
			_, _ = os.Stdout.WriteString(strings.Repeat("x", 1000))
		}
	},
	"environment": func() { _, _ = fmt.Fprint(os.Stdout, len(os.Environ())) },
}

func run(t *testing.T, limits Limits, program, input string) (string, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, err := Run(t.Context(), limits, []byte(input), self, "program", program)
	return string(out), err
}

func TestRunReturnsOutput(t *testing.T) {
	if got, err := run(t, Limits{Wall: time.Minute, CPU: time.Minute, Memory: 1 << 30, Output: 1 << 20}, "echo", "hello"); got != "hello" || err != nil {
		t.Errorf("Run(echo) = %q, %v", got, err)
	}
	if got, err := run(t, Limits{}, "environment", ""); got != "0" || err != nil {
		t.Errorf("the child has %s environment variables, %v, want none", got, err)
	}
	_, err := run(t, Limits{}, "fail", "")
	if limit := (*LimitError)(nil); err == nil || errors.As(err, &limit) || !strings.Contains(err.Error(), "failure reason") {
		t.Errorf("Run(fail) = %v, want its standard error", err)
	}
}

func TestRunEnforcesLimits(t *testing.T) {
	linux := runtime.GOOS == "linux"
	cases := map[string]struct {
		program string
		limits  Limits
		want    string
		skip    bool
	}{
		"too long":        {"sleep", Limits{Wall: 300 * time.Millisecond}, "took more than 300ms", false},
		"too much CPU":    {"burn", Limits{Wall: 30 * time.Second, CPU: time.Second}, "took more than 1s of CPU time", !linux},
		"too much memory": {"grow", Limits{Wall: 30 * time.Second, Memory: 64 << 20}, "took more than 64 MiB of memory", !linux},
		"too much output": {"write", Limits{Wall: 30 * time.Second, Output: 1 << 20}, "took more than 1 MiB of output", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.skip {
				t.Skip("CPU time and memory are limited only on Linux (limits_other.go)")
			}
			started := time.Now()
			_, err := run(t, tc.limits, tc.program, "")
			var limit *LimitError
			if !errors.As(err, &limit) || limit.Error() != tc.want {
				t.Errorf("Run() = %v, want %s", err, tc.want)
			}
			if took := time.Since(started); took > 20*time.Second {
				t.Errorf("the child ended after %s", took)
			}
		})
	}
}

func TestRunStopsWithItsContext(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := Run(ctx, Limits{Wall: time.Minute}, nil, self, "program", "sleep"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Run() = %v, want context.DeadlineExceeded", err)
	}
	if _, err := Run(t.Context(), Limits{}, nil, "/nonexistent"); err == nil {
		t.Error("Run() of a missing program succeeded")
	}
}
