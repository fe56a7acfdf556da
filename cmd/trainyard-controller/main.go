// Command trainyard-controller runs the controllers of trainyard in a cluster. The command only parses flags and prints
// messages. The controllers are in the packages below the folder controller/.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

// The exit codes have the same meanings as those of the command "trainyard".
const (
	exitOK       = 0
	exitInternal = 1
	exitUsage    = 2
)

// gcPercent is the GC percentage of the program, unless the environment sets GOGC. With Go's default of 100, the heap can
// become twice as large as its live objects. Most live objects are in caches, which are large and change rarely. Garbage
// collections of the controller are rare, so a lower GC percentage saves memory at little cost.
const gcPercent = 50

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal kills the program, even while the program waits for running reconciliations to end.
	context.AfterFunc(ctx, stop)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run runs one command line, and returns its exit code.
func run(ctx context.Context, args []string, out, messages io.Writer) int {
	root := newRoot(messages)
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(messages)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	fmt.Fprintf(messages, "trainyard-controller: %v\n", err)
	if usage := (*usageError)(nil); asUsage(err, &usage) {
		fmt.Fprintln(messages, `Run "trainyard-controller --help" for usage.`)
		return exitUsage
	}
	return exitInternal
}
