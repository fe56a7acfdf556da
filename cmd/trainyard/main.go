// Command trainyard generates Kubernetes objects from a platform document, and checks such documents. It contains flags
// and printing; the logic is in generator, bundles and api.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/trainyard/trainyard/cmd/internal/gctuning"
)

func main() {
	gctuning.Tune()
	// Handling SIGPIPE turns a write to a closed pipe into an ordinary error.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal kills the program, even while it blocks in a read that ignores the context.
	context.AfterFunc(ctx, stop)
	code := run(ctx, os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr})
	stop()
	os.Exit(code)
}
