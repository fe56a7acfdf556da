package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/generator/sandbox"
)

// evaluation is what a document in CUE may take. Forty bytes of CUE can burn
// minutes and gigabytes, and nothing stops its evaluation from inside.
var evaluation = sandbox.Limits{
	Wall:   14 * time.Second, // of all layers
	CPU:    10 * time.Second,
	Memory: 512 << 20,
	Output: 32 << 20,
}

// newPipeline is a pipeline that evaluates documents in CUE in a child process.
func newPipeline() *generator.Pipeline {
	var spent time.Duration
	return generator.New(trainyard.CUE).EvaluateWith(func(ctx context.Context, input generator.Input, allowImports bool) ([]byte, error) {
		limits, before, start := evaluation, spent, time.Now()
		if limits.Wall -= before; limits.Wall <= 0 {
			return nil, errTooLong
		}
		text, err := evaluateApart(ctx, limits, input, allowImports)
		if spent += time.Since(start); before > 0 && spent >= evaluation.Wall {
			return nil, errTooLong
		}
		return text, err
	})
}

// errTooLong is said of the layer in CUE with which all of them take more than they may.
var errTooLong = &sandbox.LimitError{What: evaluation.Wall.String() + ", with the layers before it"}

// evaluateApart runs this program again, as the command below.
func evaluateApart(ctx context.Context, limits sandbox.Limits, input generator.Input, allowImports bool) ([]byte, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	return sandbox.Run(ctx, limits, input.Text, program, "__evaluate", fmt.Sprintf("--allow-cue-imports=%v", allowImports), "--", input.Name)
}

// newEvaluate is the child's side: a document on standard input, what comes of it
// on standard output.
func newEvaluate(s streams) *cobra.Command {
	var allowImports bool
	cmd := &cobra.Command{
		Use:    "__evaluate NAME",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			input, err := readFrom(args[0], s.in)
			if err != nil {
				return err
			}
			return generator.New(trainyard.CUE).WriteEvaluated(s.out, input, allowImports)
		},
	}
	cmd.Flags().BoolVar(&allowImports, "allow-cue-imports", false, "")
	return cmd
}
