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
	"github.com/trainyard/trainyard/api/message"
)

func newRuntime(s streams) *cobra.Command {
	return newGroup(&cobra.Command{
		Use:     "runtime",
		Short:   "Test the training runtimes of a cluster",
		Example: "  trainyard runtime test mpi-openmpi-cpu --namespace team-vision",
	}, newRuntimeTest(s))
}

type runtimeTestFlags struct {
	cluster clusterFlags
	options trial.Options
	runtime string
	output  string
}

func newRuntimeTest(s streams) *cobra.Command {
	var f runtimeTestFlags
	cmd := &cobra.Command{
		Use:   "test NAME",
		Short: "Test a runtime with a small TrainJob, and print the step that fails",
		Long: `Test a training runtime of a cluster with a small TrainJob: a launcher and a few nodes, on which mpirun
starts ranks that print where they run. Each step is one line: pods are placed, keys are mounted, the
image is pulled, sshd listens, host names resolve, SSH connects, slots match, mpirun starts, ranks report.
The test stops at the first step that fails, and prints the output of the pod and a hint. It deletes the
TrainJob at the end, even if the test is interrupted.

The TrainJob requests the resources that the runtime gives each pod. The command needs permission to
create and delete TrainJobs, and to read pods, their logs and events in the namespace.

The exit code is 7 if a step failed, and 8 after --timeout.`,
		Example: `  # Does this runtime work?
  trainyard runtime test mpi-openmpi-cpu --namespace team-vision

  # Test with eight nodes, and keep the TrainJob and its pods
  trainyard runtime test mpi-openmpi-cpu --nodes 8 --keep

  # In a cluster with Kueue
  trainyard runtime test mpi-openmpi-cpu -n team-vision --queue training

  # Test the TrainingRuntime of the namespace, not the ClusterTrainingRuntime with the same name
  trainyard runtime test trainingruntime/mpi-intel-cpu -n team-physics

  # In a pipeline: which step failed?
  trainyard runtime test mpi-openmpi-cpu -o json | jq -r '.checks[] | select(.status == "failed") | .name'`,
		Args: wantArg(true, "the name of one runtime"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.runtime = args[0]
			return f.run(cmd.Context(), s)
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			return f.complete(cmd.Context(), args), cobra.ShellCompDirectiveNoFileComp
		},
	}
	f.cluster.addConnection(cmd)
	f.cluster.addNamespace(cmd)
	flags := cmd.Flags()
	flags.Int32Var(&f.options.Nodes, "nodes", 2, "number of nodes, in addition to the launcher")
	flags.StringVar(&f.options.Queue, "queue", "", "LocalQueue of Kueue for the TrainJob")
	flags.DurationVar(&f.options.Timeout, "timeout", 5*time.Minute, "time limit of the test, at least 10s")
	flags.BoolVar(&f.options.Keep, "keep", false, "keep the TrainJob and its pods after the test")
	addOutput(cmd, &f.output, textOrJSON)
	return cmd
}

func (f *runtimeTestFlags) run(ctx context.Context, s streams) error {
	switch {
	case f.options.Nodes < 1:
		return usageErrorf("--nodes %d: want at least 1", f.options.Nodes)
	case f.options.Timeout < 10*time.Second:
		return usageErrorf("--timeout %s: want at least 10s", f.options.Timeout)
	}
	client, err := f.cluster.connect()
	if err != nil {
		return err
	}
	f.options.Namespace = f.cluster.namespace
	if f.options.Runtime, err = f.findRuntime(ctx, client); err != nil {
		return err
	}
	// With -o json, standard output contains only the result, so the lines of the checks go to standard error.
	checks := s.out
	if f.output == "json" {
		checks = s.err
	}
	fmt.Fprintf(checks, "Testing %s in namespace %s: a launcher and %s\n", f.options.Runtime, f.options.Namespace, count(int(f.options.Nodes), "node"))
	result, err := trial.Run(ctx, client, f.options, func(c trial.Check) { printCheck(checks, c) })
	return f.finish(s, result, err)
}

// finish prints the result of a test, even if the test failed or was interrupted.
func (f *runtimeTestFlags) finish(s streams, result trial.Result, err error) error {
	if f.options.Keep && result.Job != "" {
		fmt.Fprintf(s.err, "Kept TrainJob %s in namespace %s: delete it with kubectl -n %[2]s delete trainjob %[1]s\n", result.Job, result.Namespace)
	}
	if f.output == "json" && result.Job != "" {
		err = errors.Join(err, printJSON(s.out, result))
	}
	if err != nil {
		return err
	}
	for _, c := range result.Checks {
		if c.Status == trial.Failed {
			code := exitFailed
			if result.TimedOut {
				code = exitTimedOut
			}
			return exitErrorf(code, "%s does not work: %s: %s", result.Runtime, c.Title, c.Detail)
		}
	}
	fmt.Fprintf(s.err, "%s works: %s in %.1f s\n", result.Runtime, count(len(result.Checks), "check"), result.Seconds)
	return nil
}

// findRuntime looks up the runtime in the cluster. This look-up has its own time limit, which is as long as the time
// limit of the test. If the runtime does not exist, the error can suggest a runtime with a similar name.
func (f *runtimeTestFlags) findRuntime(ctx context.Context, client jobs.Jobs) (jobs.Runtime, error) {
	ctx, cancel := context.WithTimeout(ctx, f.options.Timeout)
	defer cancel()
	runtime, err := client.Runtime(ctx, f.options.Namespace, f.runtime)
	if unknown := (*jobs.UnknownRuntimeError)(nil); errors.As(err, &unknown) {
		if nearest := message.Nearest(unknown.Name, unknown.Known); nearest != "" {
			err = fmt.Errorf("%w: did you mean %q?", err, nearest)
		}
	}
	return runtime, err
}

// completionTimeout is the maximum time that shell completion waits for the cluster.
const completionTimeout = 2 * time.Second

func (f *runtimeTestFlags) complete(ctx context.Context, args []string) []string {
	if len(args) > 0 {
		return nil
	}
	client, err := f.cluster.connect()
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	names, _ := client.RuntimeNames(ctx, f.cluster.namespace) // after an error, completion suggests nothing
	return names
}

var statusLabels = map[trial.Status]string{trial.Passed: "ok", trial.Failed: "FAILED", trial.Open: "..."}

// printCheck prints the line of a check. Below the line of the check, printCheck prints the pod, the evidence
// and a hint, if the check has them.
func printCheck(w io.Writer, c trial.Check) {
	line := fmt.Sprintf("%-6s %6.1f s  %s", statusLabels[c.Status], c.Seconds, c.Title)
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
