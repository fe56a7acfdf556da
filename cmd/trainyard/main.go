// Command trainyard turns a platform document into Kubernetes objects, and
// checks such documents. It holds flags and printing; everything else is in
// generator and bundles.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/trainyard/trainyard/cmd/internal/pace"
)

func main() {
	pace.Collector()
	// Writing to a pipe that nobody reads is an error then, as any other that writing meets.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal ends the program even while it reads, which no context can stop.
	context.AfterFunc(ctx, stop)
	code := run(ctx, os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr})
	stop()
	os.Exit(code)
}
