// Command trainyard generates Kubernetes objects from a platform document, and checks such documents. The command
// only parses flags and prints results. The logic of trainyard is in the packages below the folders "generator",
// "bundles" and "api".
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
	// Because SIGPIPE is handled, a write to a closed pipe returns an ordinary error instead of killing the program.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal kills the program, even while the program blocks in a read that ignores the context.
	context.AfterFunc(ctx, stop)
	code := run(ctx, os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr})
	stop()
	os.Exit(code)
}
