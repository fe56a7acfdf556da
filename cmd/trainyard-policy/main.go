// Command trainyard-policy evaluates admission policies for "trainyard policy test". The command reads a request from
// standard input and writes the response to standard output, both as JSON.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/trainyard/trainyard/policies/offline"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := offline.Serve(ctx, os.Stdin, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "trainyard-policy: %v\n", err)
		os.Exit(1)
	}
}
