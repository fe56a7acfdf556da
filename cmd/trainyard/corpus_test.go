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

// What any invalid document may take, whatever it holds. The race detector and a
// busy machine are why this is far above what is usual.
const (
	patienceWithInput = time.Minute
	memoryForInput    = 600 << 20 // bytes
)

// TestCorpus runs testdata/corpus: each file is one mistake, and all that is said of it.
// TRAINYARD_UPDATE=1 rewrites that, for people to judge: all problems and no others, each at
// its place, once, with what is allowed.
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

// vetWithin runs trainyard vet, bounded in time and memory: vet CODE ARG... What it says
// is in the file said. With --without-capabilities root is nobody in particular.
func vetWithin(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: vet CODE ARG...")
	}
	program, err := exec.LookPath(filepath.Join(firstOf(ts.Getenv("PATH")), "trainyard"))
	ts.Check(err)
	command := append([]string{program, "vet"}, args[1:]...)
	if args[1] == "--without-capabilities" {
		command = append([]string{"setpriv", "--bounding-set=-all", "--", program, "vet"}, args[2:]...)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patienceWithInput)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = append(os.Environ(), "PATH="+ts.Getenv("PATH"))
	var said bytes.Buffer
	cmd.Stderr = &said
	_ = cmd.Run() // the exit code says it
	if ctx.Err() != nil {
		ts.Fatalf("still at it after %s", patienceWithInput)
	}
	if got := strconv.Itoa(cmd.ProcessState.ExitCode()); got != args[0] {
		ts.Fatalf("exit code %s, want %s:\n%s", got, args[0], &said)
	}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok && usage.Maxrss<<10 > memoryForInput {
		ts.Fatalf("took %d KiB of memory", usage.Maxrss)
	}
	ts.Check(os.WriteFile(ts.MkAbs("said"), said.Bytes(), 0o600))
}

func firstOf(list string) string { return filepath.SplitList(list)[0] }

// writeBytes makes a file of Go strings: write FILE '"text\n"' 3*'"again"'...
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
		part, err := strconv.Unquote(arg)
		ts.Check(err)
		for i := range count {
			text.WriteString(strings.ReplaceAll(part, "<i>", strconv.Itoa(i)))
		}
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text.String()), 0o600))
}

// writeSparse makes a file of zeros that takes no room: sparse FILE BYTES.
func writeSparse(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: sparse FILE BYTES")
	}
	size, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), nil, 0o600))
	ts.Check(os.Truncate(ts.MkAbs(args[0]), size))
}
