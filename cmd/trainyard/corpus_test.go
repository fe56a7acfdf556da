//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// vetTimeout and vetMemory are far above the time and the memory that vet usually needs. With the race detector, vet
// needs more time and more memory. On a busy machine, vet needs more time.
const (
	vetTimeout = time.Minute
	vetMemory  = 600 << 20 // bytes
)

// TestCorpus runs the test scripts in testdata/corpus. Most scripts contain or create documents with mistakes. Each
// script also contains the complete output that "trainyard vet" must print. The expected output must list each problem
// exactly once, with its position and the allowed values. With TRAINYARD_UPDATE=1, the test rewrites the expected
// output in the scripts, and a person must then review this output.
func TestCorpus(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/corpus",
		UpdateScripts:       os.Getenv("TRAINYARD_UPDATE") != "",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"vet":    vetWithin,
			"write":  writeBytes,
			"sparse": writeSparse,
		},
		Condition: func(condition string) (bool, error) {
			if condition == "root" {
				return os.Geteuid() == 0, nil
			}
			return false, fmt.Errorf("unknown condition %q", condition)
		},
	})
}

// vetWithin runs trainyard vet with limits on time and memory, and writes the standard error to a file named "output".
// With --without-capabilities, vet runs without the capabilities of root. Usage: vet CODE ARG...
func vetWithin(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: vet CODE ARG...")
	}
	program, err := exec.LookPath(filepath.Join(filepath.SplitList(ts.Getenv("PATH"))[0], "trainyard"))
	ts.Check(err)
	command := append([]string{program, "vet"}, args[1:]...)
	if args[1] == "--without-capabilities" {
		command = append([]string{"setpriv", "--bounding-set=-all", "--", program, "vet"}, args[2:]...)
	}
	ctx, cancel := context.WithTimeout(context.Background(), vetTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = append(os.Environ(), "PATH="+ts.Getenv("PATH"))
	var output bytes.Buffer
	cmd.Stderr = &output
	_ = cmd.Run() // the exit code is checked below
	if ctx.Err() != nil {
		ts.Fatalf("vet still runs after %s", vetTimeout)
	}
	if got := strconv.Itoa(cmd.ProcessState.ExitCode()); got != args[0] {
		ts.Fatalf("exit code %s, want %s:\n%s", got, args[0], &output)
	}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok && usage.Maxrss<<10 > vetMemory {
		ts.Fatalf("used %d KiB of memory", usage.Maxrss)
	}
	ts.Check(os.WriteFile(ts.MkAbs("output"), output.Bytes(), 0o600))
}

// writeBytes creates a file from Go string literals. A literal can have a prefix such as 3*. writeBytes then writes the
// text of this literal three times. Usage:
//
//	write FILE '"text\n"' 3*'"again"'...
func writeBytes(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: write FILE [COUNT*]STRING...")
	}
	var text strings.Builder
	for _, arg := range args[1:] {
		count := 1
		if times, rest, ok := strings.Cut(arg, "*"); ok && !strings.HasPrefix(arg, `"`) {
			n, err := strconv.Atoi(times)
			ts.Check(err)
			count, arg = n, rest
		}
		decoded, err := strconv.Unquote(arg)
		ts.Check(err)
		for i := range count {
			text.WriteString(strings.ReplaceAll(decoded, "<i>", strconv.Itoa(i)))
		}
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text.String()), 0o600))
}

// writeSparse creates a sparse file of zeros. Usage: sparse FILE BYTES.
func writeSparse(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: sparse FILE BYTES")
	}
	size, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), nil, 0o600))
	ts.Check(os.Truncate(ts.MkAbs(args[0]), size))
}
