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

// evaluationLimits bounds the evaluation of CUE documents. Even forty bytes of CUE can take minutes and gigabytes to
// evaluate. CUE documents are evaluated in a child process, because no code in the same process can stop an
// evaluation.
var evaluationLimits = sandbox.Limits{
	Wall:   14 * time.Second, // of all layers together
	CPU:    10 * time.Second,
	Memory: 512 << 20,
	Output: 32 << 20,
}

func newPipeline() *generator.Pipeline {
	var spent time.Duration
	return generator.New(trainyard.CUE).EvaluateWith(func(ctx context.Context, input generator.Input, allowImports bool) ([]byte, error) {
		limits, before, start := evaluationLimits, spent, time.Now()
		if limits.Wall -= before; limits.Wall <= 0 {
			return nil, errLayersTooSlow
		}
		text, err := evaluateInChild(ctx, limits, input, allowImports)
		if spent += time.Since(start); before > 0 && spent >= evaluationLimits.Wall {
			return nil, errLayersTooSlow
		}
		return text, err
	})
}

// errLayersTooSlow reports that several CUE layers together exceed the time limit. The message of this error ends with
// the words "with the layers before it". In these words, "it" means the layer that cannot be evaluated in the remaining
// time.
var errLayersTooSlow = &sandbox.LimitError{What: evaluationLimits.Wall.String() + ", with the layers before it"}

// evaluateInChild evaluates a CUE document in a child process. The child process runs this program with the command
// __evaluate.
func evaluateInChild(ctx context.Context, limits sandbox.Limits, input generator.Input, allowImports bool) ([]byte, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	return sandbox.Run(ctx, limits, input.Text, program, "__evaluate", fmt.Sprintf("--allow-cue-imports=%v", allowImports), "--", input.Name)
}

// newEvaluate returns the command "__evaluate", which reads a CUE document from standard input, evaluates it, and writes the
// result to standard output. evaluateInChild runs this command.
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
