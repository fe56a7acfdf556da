package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/trainyard/trainyard/api/sources"
)

type sourceSyncFlags struct {
	source  sourceFlags
	wait    bool
	timeout time.Duration
}

func newSourceSync(s streams) *cobra.Command {
	var f sourceSyncFlags
	cmd := &cobra.Command{
		Use:   "sync NAME",
		Short: "Fetch the repository of a TrainJobSource now",
		Long: `Fetch the repository of a TrainJobSource now, instead of after its interval, and apply a new commit.

The command writes the annotation trainyard.dev/sync, and waits until trainyard-controller has handled it.
The exit code is 0 if the condition Ready is then True, 7 if not, and 8 after --timeout. With -o json, the
output has the fields of trainyard source status.`,
		Example: `  # After git push
  trainyard source sync jobs --namespace team-vision

  # Do not wait for the result
  trainyard source sync jobs --wait=false

  # In a script: print the reason if the TrainJobSource is not ready
  state=$(trainyard source sync jobs -o json) || echo "$state" | jq -r .message`,
		PreRunE: func(cmd *cobra.Command, _ []string) error { return f.check(cmd) },
	}
	f.source.add(cmd, func(ctx context.Context, client sources.Sources, _ []string) error { return f.run(ctx, client, s) })
	cmd.Flags().BoolVar(&f.wait, "wait", true, "wait for the result")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 2*time.Minute, "longest time to wait, at least 1s")
	return cmd
}

func (f *sourceSyncFlags) check(cmd *cobra.Command) error {
	switch {
	case !f.wait && cmd.Flags().Changed("timeout"):
		return usageErrorf("--timeout and --wait=false: want only one of them")
	case f.timeout < time.Second:
		return usageErrorf("--timeout %s: want at least 1s", f.timeout)
	}
	return nil
}

func (f *sourceSyncFlags) run(ctx context.Context, client sources.Sources, s streams) error {
	key := f.source.key()
	request, err := client.RequestSync(ctx, key, time.Now())
	if suspended := (*sources.SuspendedError)(nil); errors.As(err, &suspended) {
		return inputErrorf("%w; resume it with: trainyard source resume %s -n %s", err, key.Name, key.Namespace)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(s.err, "Requested a fetch of TrainJobSource %s\n", key)
	if !f.wait {
		return f.source.printChange(ctx, client, s, "")
	}
	late := exitErrorf(exitTimedOut, "trainyard-controller has not handled the request within %s: check that trainyard-controller runs", f.timeout)
	ctx, cancel := context.WithTimeoutCause(ctx, f.timeout, late)
	defer cancel()
	view, err := client.WaitForSync(ctx, request)
	if err != nil {
		return err
	}
	if err := f.print(s.out, view, time.Now()); err != nil {
		return err
	}
	return requireReady(view)
}

// print prints the result of a fetch.
func (f *sourceSyncFlags) print(w io.Writer, view sources.View, now time.Time) error {
	if f.source.output == "json" {
		return printJSON(w, view)
	}
	fmt.Fprintf(w, "Fetched: %s\nApplied: %s\nJobs:    %s\n", describeRevision(view.Fetched, now), describeRevision(view.Applied, now), describeJobs(view))
	return printProblems(w, view)
}

// printChange prints the result of a command that has changed a TrainJobSource: a text that describes the change, or
// the state of the TrainJobSource as JSON.
func (f *sourceFlags) printChange(ctx context.Context, client sources.Sources, s streams, text string) error {
	if f.output == "text" {
		_, err := io.WriteString(s.out, text)
		return err
	}
	view, err := client.Get(ctx, f.key())
	if err != nil {
		return fmt.Errorf("the change was made, but its result cannot be read: %w", err)
	}
	return printJSON(s.out, view)
}

func newSourceRetry(s streams) *cobra.Command {
	var f sourceFlags
	cmd := &cobra.Command{
		Use:   "retry NAME JOB",
		Short: "Run a job of a TrainJobSource again",
		Long: `Run a job of a TrainJobSource again, although it has not changed in Git. JOB is the name of the TrainJob
in Git.

The command writes the annotation retry.trainyard.dev/JOB, and does not wait for the run. spec.onChange of
the TrainJobSource says whether the run waits for earlier runs. With -o json, the output has the fields of
trainyard source status.`,
		Example: `  trainyard source retry jobs bert --namespace team-vision`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usageErrorf("%s: want the name of a TrainJobSource and the name of a job, got %s", commandName(cmd), count(len(args), "argument"))
			}
			return nil
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 1 {
				return f.completeJobs(cmd.Context(), args[0]), cobra.ShellCompDirectiveNoFileComp
			}
			return f.complete(cmd.Context(), args), cobra.ShellCompDirectiveNoFileComp
		},
	}
	f.add(cmd, func(ctx context.Context, client sources.Sources, args []string) error {
		view, err := client.Retry(ctx, f.key(), args[1], time.Now())
		if invalid := (*sources.InvalidJobError)(nil); errors.As(err, &invalid) {
			return usageErrorf("%w", err)
		}
		if err != nil {
			return err
		}
		if view.Suspended {
			fmt.Fprintf(s.err, "The TrainJobSource is suspended, so the job does not run until you resume it with: trainyard source resume %s -n %s\n", view.Name, view.Namespace)
		}
		if view.DryRun {
			fmt.Fprintln(s.err, "The TrainJobSource has dryRun: true, so the job does not run")
		}
		return f.printChange(ctx, client, s, fmt.Sprintf("Requested another run of job %s of TrainJobSource %s\n", args[1], f.key()))
	})
	return cmd
}

// completeJobs suggests the names of the jobs of a TrainJobSource.
func (f *sourceFlags) completeJobs(ctx context.Context, name string) []string {
	f.name = name
	client, err := f.cluster.connectSources()
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	view, _ := client.Get(ctx, f.key()) // after an error, completion suggests nothing
	return view.JobNames()
}

func newSourceSuspend(s streams) *cobra.Command {
	return newSuspension(s, true, &cobra.Command{
		Use:   "suspend NAME",
		Short: "Suspend a TrainJobSource, so that its repository is no longer fetched",
		Long: `Suspend a TrainJobSource: the command sets spec.suspend, so trainyard-controller no longer fetches the
repository and no longer applies its TrainJobs. TrainJobs that run are not stopped. If a GitOps tool manages
the TrainJobSource, change spec.suspend in Git instead, because the tool can undo the change of the command.
With -o json, the output has the fields of trainyard source status.`,
		Example: `  trainyard source suspend jobs --namespace team-vision`,
	})
}

func newSourceResume(s streams) *cobra.Command {
	return newSuspension(s, false, &cobra.Command{
		Use:   "resume NAME",
		Short: "Resume a suspended TrainJobSource, so that its repository is fetched again",
		Long: `Resume a suspended TrainJobSource: the command removes spec.suspend, so trainyard-controller fetches the
repository and applies its TrainJobs again. If a GitOps tool manages the TrainJobSource, change spec.suspend
in Git instead, because the tool can undo the change of the command. With -o json, the output has the fields
of trainyard source status.`,
		Example: `  trainyard source resume jobs --namespace team-vision`,
	})
}

// newSuspension completes a command that suspends or resumes a TrainJobSource: it adds the flags and the code of the
// command.
func newSuspension(s streams, suspend bool, cmd *cobra.Command) *cobra.Command {
	done, unchanged := "Resumed", "not suspended"
	if suspend {
		done, unchanged = "Suspended", "already suspended"
	}
	var f sourceFlags
	f.add(cmd, func(ctx context.Context, client sources.Sources, _ []string) error {
		changed, err := client.Suspend(ctx, f.key(), suspend)
		if err != nil {
			return err
		}
		text := fmt.Sprintf("%s TrainJobSource %s\n", done, f.key())
		if !changed {
			text = fmt.Sprintf("TrainJobSource %s is %s: nothing changed\n", f.key(), unchanged)
		}
		return f.printChange(ctx, client, s, text)
	})
	return cmd
}
