package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trainyard/trainyard/api/message"
	"github.com/trainyard/trainyard/api/sources"
)

func newSource(s streams) *cobra.Command {
	return newGroup(&cobra.Command{
		Use:   "source",
		Short: "Show and change the TrainJobSources of a cluster",
		Long: `Show and change the TrainJobSources of a cluster. A TrainJobSource runs the TrainJobs of a Git repository in
its own namespace. trainyard-controller fetches the repository, and writes the result into the status.`,
		Example: `  # Which TrainJobSources have problems?
  trainyard source list --all-namespaces

  # What happened to the jobs of one of them?
  trainyard source status jobs --namespace team-vision`,
	}, newSourceList(s), newSourceStatus(s), newSourceSync(s), newSourceRetry(s), newSourceSuspend(s), newSourceResume(s))
}

// sourceFlags select one TrainJobSource of a cluster, and the format of the output.
type sourceFlags struct {
	cluster clusterFlags
	name    string
	output  string // text or json
}

// add adds the flags to a command. The first argument of the command is the name of a TrainJobSource. The command calls
// the function "run" with a client for the cluster, and makes the errors of "run" safe to print on a terminal.
func (f *sourceFlags) add(cmd *cobra.Command, run func(context.Context, sources.Sources, []string) error) {
	f.cluster.addConnection(cmd)
	f.cluster.addNamespace(cmd)
	addOutput(cmd, &f.output, textOrJSON)
	if cmd.Args == nil {
		cmd.Args = wantArg(true, "the name of one TrainJobSource")
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		f.name = args[0]
		client, err := f.cluster.connectSources()
		if err != nil {
			return err
		}
		return makePrintable(run(cmd.Context(), client, args))
	}
	if cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			return f.complete(cmd.Context(), args), cobra.ShellCompDirectiveNoFileComp
		}
	}
}

// key returns the namespace and the name of the TrainJobSource. Callers must call connectSources before the method "key",
// because connectSources sets the default namespace.
func (f *sourceFlags) key() types.NamespacedName {
	return types.NamespacedName{Namespace: f.cluster.namespace, Name: f.name}
}

// complete returns suggestions for the first argument: the names of the TrainJobSources in the namespace.
func (f *sourceFlags) complete(ctx context.Context, args []string) []string {
	if len(args) > 0 {
		return nil
	}
	client, err := f.cluster.connectSources()
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	all, _ := client.List(ctx, f.cluster.namespace) // after an error, completion suggests nothing
	names := make([]string, len(all))
	for i, source := range all {
		names[i] = source.Name
	}
	return names
}

// requestTimeout is the time limit of one request to the API server.
const requestTimeout = 30 * time.Second

// connectSources connects to the cluster. If f.namespace is empty, connectSources sets it to the namespace of
// the selected kubeconfig context.
func (f *clusterFlags) connectSources() (sources.Sources, error) {
	config, namespace, err := f.config()
	if err != nil {
		return sources.Sources{}, err
	}
	if f.namespace == "" {
		f.namespace = namespace
	}
	config.Timeout = requestTimeout
	return sources.Connect(config)
}

// printableError is an error whose text is safe to print on a terminal. Messages of the API server can contain texts of
// users and webhooks, which are not always safe to print.
type printableError struct{ error }

func (e printableError) Error() string { return message.PrintableLine(e.error.Error()) }

func (e printableError) Unwrap() error { return e.error }

func makePrintable(err error) error {
	if err == nil {
		return nil
	}
	return printableError{err}
}

// requireReady returns an error with exit code 7 if a TrainJobSource is not ready.
func requireReady(v sources.View) error {
	if v.IsReady() {
		return nil
	}
	return exitErrorf(exitFailed, "TrainJobSource %q in namespace %q is not ready: %s", v.Name, v.Namespace, describeReady(v))
}

// describeReady describes the condition Ready in one line.
func describeReady(v sources.View) string {
	var parts []string
	switch {
	case v.Reason == "":
		return "trainyard-controller has not handled it yet"
	case !v.Current:
		parts = append(parts, "trainyard-controller has not handled the newest spec yet")
	}
	parts = append(parts, v.Reason)
	if v.Message != "" {
		parts = append(parts, v.Message)
	}
	return strings.Join(parts, ": ")
}

// commitDigits is the number of digits of a commit in tables, as in git log --oneline.
const commitDigits = 7

func shortCommit(commit string) string { return commit[:min(len(commit), commitDigits)] }

// cell returns the text of a table cell. An empty text becomes "-", so that programs can split rows at
// spaces.
func cell(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func describeJobs(v sources.View) string {
	return fmt.Sprintf("%d in Git; runs: %d active, %d succeeded, %d failed", v.Summary.Jobs, v.Summary.Active, v.Summary.Succeeded, v.Summary.Failed)
}
