package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/trainyard/trainyard/api/jobs"
	"github.com/trainyard/trainyard/api/jobs/trial"
	"github.com/trainyard/trainyard/generator/problem"
)

// runtimeTest is what `runtime test` can be told.
type runtimeTest struct {
	cluster clusterFlags
	options trial.Options
	runtime string
	output  string
}

func newRuntimeTest(s streams) *cobra.Command {
	var f runtimeTest
	cmd := &cobra.Command{
		Use:   "test NAME",
		Short: "Try a runtime with a small TrainJob, and say which step fails",
		Long: `Try a training runtime of a cluster with a small TrainJob: a launcher and a few nodes, on which
mpirun starts ranks that say where they are. Every step on the way is a line: pods placed, keys
mounted, image pulled, sshd, host names, SSH, slots, mpirun, ranks. The first step that fails
ends the test, with what the pod said and what to do about it. The TrainJob is deleted
afterwards, also when the test is interrupted.

It asks for as many resources as the runtime gives each pod. It needs the rights to create and
delete TrainJobs and to read pods, their logs and events in the namespace.

The exit code is 7 when a step failed and 8 when time was over.`,
		Example: `  # Does this runtime work?
  trainyard runtime test mpi-openmpi-cpu --namespace team-vision

  # On eight nodes, and leave the TrainJob and its pods for a look
  trainyard runtime test mpi-openmpi-cpu --nodes 8 --keep

  # Where Kueue admits jobs
  trainyard runtime test mpi-openmpi-cpu -n team-vision --queue training

  # A runtime of the namespace, where the cluster has one of that name too
  trainyard runtime test trainingruntime/mpi-intel-cpu -n team-physics

  # In a pipeline: which step failed?
  trainyard runtime test mpi-openmpi-cpu -o json | jq -r '.checks[] | select(.status == "failed") | .name'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return &usageError{fmt.Errorf("%s wants the name of one runtime, got %d", cmd.CommandPath(), len(args))}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			f.runtime = args[0]
			return f.run(cmd.Context(), s)
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			return f.complete(cmd.Context(), args), cobra.ShellCompDirectiveNoFileComp
		},
	}
	f.cluster.add(cmd)
	flags := cmd.Flags()
	flags.Int32Var(&f.options.Nodes, "nodes", 2, "how many nodes beside the launcher")
	flags.StringVar(&f.options.Queue, "queue", "", "LocalQueue of Kueue that is to admit the TrainJob")
	flags.DurationVar(&f.options.Timeout, "timeout", 5*time.Minute, "how long it may take, at most")
	flags.BoolVar(&f.options.Keep, "keep", false, "leave the TrainJob and its pods for a look")
	flags.StringVarP(&f.output, "output", "o", "text", "print format: text, json")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (f *runtimeTest) run(ctx context.Context, s streams) error {
	if err := f.check(); err != nil {
		return err
	}
	all, err := f.cluster.connect()
	if err != nil {
		return err
	}
	f.options.Namespace = f.cluster.namespace
	if f.options.Runtime, err = f.find(ctx, all); err != nil {
		return meant(err)
	}
	// The checklist is the answer to a person, and progress to a program.
	list := s.out
	if f.output == "json" {
		list = s.err
	}
	fmt.Fprintf(list, "Testing %s in namespace %s: a launcher and %s\n", f.options.Runtime, f.options.Namespace, count(int(f.options.Nodes), "node"))
	result, err := trial.Run(ctx, all, f.options, func(c trial.Check) { printCheck(list, c) })
	return f.tell(s, result, err)
}

// tell says what came of a test that was made, however it ended.
func (f *runtimeTest) tell(s streams, result trial.Result, err error) error {
	f.tellKept(s.err, result)
	if f.output == "json" && result.Job != "" {
		err = errors.Join(err, printJSON(s.out, result))
	}
	if err != nil {
		return err
	}
	return verdict(s.err, result)
}

// find asks for the runtime, not longer than the test may take.
func (f *runtimeTest) find(ctx context.Context, all jobs.Jobs) (jobs.Runtime, error) {
	ctx, cancel := context.WithTimeout(ctx, f.options.Timeout)
	defer cancel()
	return all.Runtime(ctx, f.options.Namespace, f.runtime)
}

// check refuses flags that make no test.
func (f *runtimeTest) check() error {
	switch {
	case f.options.Nodes < 1:
		return &usageError{fmt.Errorf("--nodes %d: want at least 1", f.options.Nodes)}
	case f.options.Timeout < 10*time.Second:
		return &usageError{fmt.Errorf("--timeout %s: want at least 10s", f.options.Timeout)}
	}
	return oneOf("--output", f.output, []string{"text", "json"})
}

// meant adds to an error which runtime might be meant.
func meant(err error) error {
	var unknown *jobs.UnknownRuntimeError
	if !errors.As(err, &unknown) {
		return err
	}
	if name := problem.Nearest(unknown.Name, unknown.Known); name != "" {
		return fmt.Errorf("%w: did you mean %s?", err, name)
	}
	return err
}

// tellKept says where the TrainJob is that was kept.
func (f *runtimeTest) tellKept(w io.Writer, result trial.Result) {
	if f.options.Keep && result.Job != "" {
		fmt.Fprintf(w, "TrainJob %s is left in namespace %s: delete it with kubectl -n %[2]s delete trainjob %[1]s\n", result.Job, result.Namespace)
	}
}

// verdict is the last word on a test.
func verdict(w io.Writer, result trial.Result) error {
	for _, c := range result.Checks {
		if c.Status == trial.Failed {
			return &failedError{fmt.Sprintf("%s does not work: %s: %s", result.Runtime, c.Title, c.Detail), result.TimedOut}
		}
	}
	fmt.Fprintf(w, "%s works: %s in %.1f s\n", result.Runtime, count(len(result.Checks), "check"), result.Seconds)
	return nil
}

// complete offers the runtimes of the cluster.
func (f *runtimeTest) complete(ctx context.Context, args []string) []string {
	if len(args) > 0 {
		return nil
	}
	all, err := f.cluster.connect()
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, completionPatience)
	defer cancel()
	names, err := all.RuntimeNames(ctx, f.cluster.namespace)
	if err != nil {
		return nil
	}
	return names
}

// completionPatience is how long a person waits for a shell to complete a word.
const completionPatience = 2 * time.Second

// marks stand before the lines of a checklist.
var marks = map[trial.Status]string{trial.Passed: "ok", trial.Failed: "FAILED", trial.Open: "..."}

// printCheck is a line of the checklist, and below a failure what was said about it.
func printCheck(w io.Writer, c trial.Check) {
	line := fmt.Sprintf("%-6s %6.1f s  %s", marks[c.Status], c.Seconds, c.Title)
	if c.Detail != "" {
		line += ": " + c.Detail
	}
	fmt.Fprintln(w, line)
	if c.Pod != "" {
		fmt.Fprintf(w, "%16s pod: %s\n", "", c.Pod)
	}
	if c.Evidence != "" && c.Evidence != c.Detail {
		for line := range strings.Lines(c.Evidence) {
			fmt.Fprintf(w, "%16s | %s\n", "", strings.TrimRight(line, "\n"))
		}
	}
	if c.Hint != "" {
		fmt.Fprintf(w, "%16s hint: %s\n", "", c.Hint)
	}
}
