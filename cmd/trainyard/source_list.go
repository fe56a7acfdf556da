package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard/api/sources"
)

type sourceListFlags struct {
	cluster clusterFlags
	all     bool
	output  string
}

func newSourceList(s streams) *cobra.Command {
	var f sourceListFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the TrainJobSources of a namespace",
		Long: `List the TrainJobSources of a namespace, or of all namespaces.

The column COMMIT shows the commit whose TrainJobs were applied last. ACTIVE is the number of runs that have
not ended.`,
		Example: `  # In one namespace
  trainyard source list --namespace team-vision

  # Which TrainJobSources of the cluster are not ready?
  trainyard source list -A -o json | jq -r '.[] | select(.ready != "True") | "\(.namespace)/\(.name) \(.reason)"'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return makePrintable(f.run(cmd.Context(), s)) },
	}
	f.cluster.addConnection(cmd)
	f.cluster.addNamespace(cmd)
	cmd.Flags().BoolVarP(&f.all, "all-namespaces", "A", false, "list the TrainJobSources of all namespaces")
	namedChoices("table", "json", "yaml").addFlag(cmd, &f.output, "output", "o", "table", "print format")
	return cmd
}

func (f *sourceListFlags) run(ctx context.Context, s streams) error {
	if f.all && f.cluster.namespace != "" {
		return usageErrorf("--all-namespaces and --namespace: want only one of them")
	}
	client, err := f.cluster.connectSources()
	if err != nil {
		return err
	}
	namespace := f.cluster.namespace
	if f.all {
		namespace = ""
	}
	list, err := client.List(ctx, namespace)
	if err != nil {
		return err
	}
	switch {
	case f.output == "yaml":
		return printYAML(s.out, list)
	case f.output == "json":
		return printJSON(s.out, list)
	case len(list) > 0:
		return printSources(s.out, list, f.all, time.Now())
	case f.all:
		fmt.Fprintln(s.err, "The cluster has no TrainJobSources")
	default:
		fmt.Fprintf(s.err, "Namespace %s has no TrainJobSources\n", namespace)
	}
	return nil
}

func printYAML(w io.Writer, value any) error {
	text, err := yaml.Marshal(value)
	if err != nil {
		return fmt.Errorf("writing YAML: %w", err)
	}
	_, err = w.Write(text)
	return err
}

// printSources prints a table, with a column for the namespace if the TrainJobSources are from all namespaces.
func printSources(w io.Writer, list []sources.Overview, namespaces bool, now time.Time) error {
	table := newTable(w)
	if namespaces {
		fmt.Fprintf(table, "NAMESPACE\t")
	}
	fmt.Fprintln(table, "NAME\tREADY\tREASON\tJOBS\tACTIVE\tCOMMIT\tAGE")
	for _, o := range list {
		if namespaces {
			fmt.Fprintf(table, "%s\t", o.Namespace)
		}
		commit := ""
		if o.Applied != nil {
			commit = shortCommit(o.Applied.Commit)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%d\t%s\t%s\n", o.Name, o.Ready, cell(o.Reason), o.Summary.Jobs, o.Summary.Active,
			cell(commit), duration.HumanDuration(now.Sub(o.Created)))
	}
	return table.Flush()
}

func newTable(w io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(w, 0, 0, 3, ' ', 0) }
