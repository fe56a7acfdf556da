package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trainyard/trainyard/api/jobs"
	"github.com/trainyard/trainyard/api/jobs/diagnosis"
	"github.com/trainyard/trainyard/api/message"
)

type whyFlags struct {
	cluster clusterFlags
	output  string
}

func newWhy(s streams) *cobra.Command {
	var f whyFlags
	cmd := &cobra.Command{
		Use:   "why TRAINJOB",
		Short: "Say why a TrainJob failed or does not start",
		Long: `Say why a TrainJob failed or does not start. The command reads the status of the TrainJob and of its pods,
warning events, and the logs of failed containers. It compares them with known failures, and prints the most
probable cause, the line that shows it, and what to do. It works with any TrainJob, including those whose
runtime trainyard did not generate, and changes nothing. Secrets in the output are replaced by [secret].

The command needs permission to get TrainJobs, and to list pods. Without permission to list events or to get
logs, it uses the rest, and says what it could not read. docs/troubleshooting.md lists all known failures.`,
		Example: `  # Why did this TrainJob fail?
  trainyard why bert --namespace team-vision

  # In a script: the code of the most probable cause
  trainyard why bert -o json | jq -r '[.causes[] | select(.level != "symptom")][0].code'`,
		Args: wantArg(true, "the name of one TrainJob"),
		RunE: func(cmd *cobra.Command, args []string) error { return makePrintable(f.run(cmd.Context(), s, args[0])) },
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			return f.complete(cmd.Context(), args), cobra.ShellCompDirectiveNoFileComp
		},
	}
	f.cluster.addConnection(cmd)
	f.cluster.addNamespace(cmd)
	addOutput(cmd, &f.output, textOrJSON)
	return cmd
}

func (f *whyFlags) run(ctx context.Context, s streams, name string) error {
	client, err := f.cluster.connect()
	if err != nil {
		return err
	}
	found, err := client.Explain(ctx, types.NamespacedName{Namespace: f.cluster.namespace, Name: name})
	if apierrors.IsNotFound(err) {
		return f.explainMissing(ctx, client, name, err)
	}
	if err != nil {
		return err
	}
	if f.output == "json" {
		return printJSON(s.out, found)
	}
	for _, missing := range found.Missing {
		fmt.Fprintln(s.err, "Not read:", missing)
	}
	return printExplanation(s.out, found)
}

// explainMissing returns an error for a TrainJob that does not exist. The error suggests the most
// similar name in the namespace. If no name is similar, the error lists existing names.
func (f *whyFlags) explainMissing(ctx context.Context, client jobs.Jobs, name string, notFound error) error {
	names, err := client.Names(ctx, f.cluster.namespace)
	if err != nil {
		return notFound
	}
	return fmt.Errorf("namespace %s has no TrainJob %s%s", f.cluster.namespace, message.Quote(name), suggestName(name, names))
}

// suggestName returns text that suggests the most similar name. If no name is similar, the text
// lists the existing names.
func suggestName(name string, names []string) string {
	if nearest := message.Nearest(name, names); nearest != "" {
		return fmt.Sprintf(": did you mean %q?", nearest)
	}
	if len(names) == 0 {
		return ""
	}
	return "; it has " + listNames(names)
}

func (f *whyFlags) complete(ctx context.Context, args []string) []string {
	client, err := f.cluster.connect()
	if err != nil || len(args) > 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	names, _ := client.Names(ctx, f.cluster.namespace) // after an error, completion suggests nothing
	return names
}

// printExplanation prints the phase, the summary, the most probable cause and its remedy, and excerpts of logs or
// messages. Then it prints all other failures that were found. If only symptoms were found, printExplanation prints
// the first symptom instead of a cause.
func printExplanation(w io.Writer, e jobs.Explanation) error {
	fmt.Fprintf(w, "TrainJob %s/%s\nPhase:   %s\nSummary: %s\n", e.Namespace, e.TrainJob, e.Phase, e.Summary)
	rest := e.Causes
	if len(rest) > 0 {
		printCause(w, rest[0], e.Phase)
		rest = rest[1:]
	} else if e.Phase == jobs.Failed {
		fmt.Fprintln(w, "\nNo failure that trainyard knows was found.")
	}
	for _, excerpt := range e.Excerpts {
		fmt.Fprintf(w, "\nThe end of the %s:\n  %s\n", excerpt.Source, strings.Join(excerpt.Lines, "\n  "))
	}
	return printRest(w, rest)
}

// retryText returns a sentence that says whether the unchanged TrainJob can succeed later. The sentence can be empty.
func retryText(retry diagnosis.Retry, phase jobs.Phase) string {
	switch {
	case phase == jobs.Failed && retry == diagnosis.RetryNever:
		return "Running the same TrainJob again will probably not help."
	case phase == jobs.Failed:
		return "The same TrainJob can succeed if it runs again."
	case phase != jobs.Running && retry == diagnosis.RetryWait:
		return "The TrainJob starts by itself when there is room."
	}
	return ""
}

func printCause(w io.Writer, c jobs.Cause, phase jobs.Phase) {
	label := "Cause"
	switch {
	case phase == jobs.Running:
		label = "Possible problem, although the TrainJob runs"
	case c.Level == diagnosis.Symptom:
		label = "The cause is unknown. Only a symptom was found"
	}
	fmt.Fprintf(w, "\n%s: %s (%s)\n", label, c.Cause, c.Code)
	fmt.Fprintf(w, "  Evidence, in %s:\n    %s\n", c.Source, c.Evidence)
	fmt.Fprintf(w, "  To do: %s\n", c.Remedy)
	if text := retryText(c.Retry, phase); text != "" {
		fmt.Fprintf(w, "  %s\n", text)
	}
}

func printRest(w io.Writer, rest []jobs.Cause) error {
	if len(rest) == 0 {
		return nil
	}
	fmt.Fprintln(w, "\nAlso seen:")
	for _, c := range rest {
		if _, err := fmt.Fprintf(w, "  %s in %s: %s\n", c.Code, c.Source, c.Evidence); err != nil {
			return err
		}
	}
	return nil
}
