package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/trainyard/trainyard/api/sources"
	"github.com/trainyard/trainyard/api/v1alpha1"
)

func newSourceStatus(s streams) *cobra.Command {
	var f sourceFlags
	cmd := &cobra.Command{
		Use:   "status NAME",
		Short: "Show the commits, jobs and problems of a TrainJobSource",
		Long: `Show the commits, jobs and problems of a TrainJobSource.

The exit code is 0 if the condition Ready is True for the newest spec, and 7 if not.`,
		Example: `  trainyard source status jobs --namespace team-vision

  # In a pipeline: which files have mistakes?
  trainyard source status jobs -o json | jq -r '.problems[] | "\(.file // ""):\(.line // 1): \(.message)"'`,
	}
	f.add(cmd, func(ctx context.Context, client sources.Sources, _ []string) error {
		view, err := client.Get(ctx, f.key())
		if err != nil {
			return err
		}
		if f.output == "json" {
			err = printJSON(s.out, view)
		} else {
			err = printSource(s.out, view, time.Now())
		}
		if err != nil {
			return err
		}
		return requireReady(view)
	})
	return cmd
}

// printSource prints the state of a TrainJobSource: its settings and commits, then its jobs, then its problems.
func printSource(w io.Writer, v sources.View, now time.Time) error {
	table := newTable(w)
	fmt.Fprintf(table, "TrainJobSource:\t%s/%s\n", v.Namespace, v.Name)
	fmt.Fprintf(table, "URL:\t%s\n", v.URL)
	fmt.Fprintf(table, "Ref:\t%s\n", describeRef(v.Ref))
	fmt.Fprintf(table, "Path:\t%s\n", v.Path)
	fmt.Fprintf(table, "Fetch:\t%s\n", describeFetches(v))
	fmt.Fprintf(table, "Fetched:\t%s\n", describeRevision(v.Fetched, now))
	fmt.Fprintf(table, "Applied:\t%s\n", describeRevision(v.Applied, now))
	fmt.Fprintf(table, "Ready:\t%s: %s\n", v.Ready, describeReady(v))
	fmt.Fprintf(table, "Jobs:\t%s\n", describeJobs(v))
	if err := table.Flush(); err != nil {
		return err
	}
	if err := printJobs(w, v); err != nil {
		return err
	}
	return printProblems(w, v)
}

func describeRef(ref *v1alpha1.GitRef) string {
	switch {
	case ref == nil:
		return "the default branch"
	case ref.Branch != "":
		return "branch " + ref.Branch
	case ref.Tag != "":
		return "tag " + ref.Tag
	case ref.Semver != "":
		return "newest tag in " + ref.Semver
	}
	return "commit " + ref.Commit
}

func describeFetches(v sources.View) string {
	if v.Suspended {
		return "never, because the TrainJobSource is suspended"
	}
	text := "every " + duration.HumanDuration(v.Interval.Duration)
	if v.SyncPending {
		text += ", and as soon as possible, because a fetch was requested"
	}
	if v.DryRun {
		text += "; spec.dryRun is true, so no TrainJob is changed"
	}
	return text
}

func describeRevision(r *v1alpha1.Revision, now time.Time) string {
	if r == nil {
		return "-"
	}
	text := shortCommit(r.Commit)
	if r.Ref != "" {
		text += " of " + r.Ref
	}
	return fmt.Sprintf("%s, first seen %s ago", text, duration.HumanDuration(now.Sub(r.Time.Time)))
}

func printJobs(w io.Writer, v sources.View) error {
	if len(v.Jobs) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	table := newTable(w)
	fmt.Fprintln(table, "NAME\tSTATE\tRUN\tPHASE\tMESSAGE")
	for _, j := range v.Jobs {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", j.Name, cell(j.State), cell(j.Run), cell(j.Phase), cell(j.Message))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if n := v.UnlistedJobs(); n > 0 {
		fmt.Fprintf(w, "The status does not list %s.\n", count(n, "more job"))
	}
	return nil
}

func printProblems(w io.Writer, v sources.View) error {
	if len(v.Problems) == 0 {
		return nil
	}
	fmt.Fprintf(w, "\nProblems (listed: %d, total: %d):\n", len(v.Problems), max(len(v.Problems), int(v.Summary.Problems)))
	for _, p := range v.Problems {
		if _, err := fmt.Fprintln(w, describeProblem(p)); err != nil {
			return err
		}
	}
	return nil
}

// describeProblem returns a problem in the form FILE:LINE: MESSAGE, which editors recognize.
func describeProblem(p v1alpha1.JobProblem) string {
	switch {
	case p.File == "":
		return p.Message
	case p.Line == 0:
		return fmt.Sprintf("%s: %s", p.File, p.Message)
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Message)
}
