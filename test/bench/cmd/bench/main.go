// Command bench measures the speed of trainyard, and of other programs that generate the same objects.
package main

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trainyard/trainyard/test/bench"
	"github.com/trainyard/trainyard/test/bench/workload"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == bench.StartArgument {
		if err := bench.Start(os.Stdin, os.Stdout, os.Stderr); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	root := &cobra.Command{Use: "bench", Short: "Measure trainyard", SilenceUsage: true}
	root.AddCommand(newRun(), newRules(), newWorkload())
	if err := root.Execute(); err != nil {
		os.Exit(1)
	}
}

// newRun returns the command "bench run". This command measures the speed of trainyard and of other programs, and then
// prints a report.
func newRun() *cobra.Command {
	var cases, output, docs string
	o := bench.Options{Progress: os.Stderr}
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Measure and print a report",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Rounds < 1 {
				return fmt.Errorf("--rounds %d: want at least 1", o.Rounds)
			}
			if output != "text" && output != "json" {
				return fmt.Errorf("--output %s: want text or json", output)
			}
			var err error
			if o.Cases, err = regexp.Compile("^(" + cases + ")$"); err != nil {
				return fmt.Errorf("--cases: %w", err)
			}
			if o.Starter, err = os.Executable(); err != nil {
				return err
			}
			r, err := bench.Run(o)
			if err != nil {
				return err
			}
			if docs != "" {
				if err := r.UpdateDocs(docs); err != nil {
					return err
				}
			}
			if output == "json" {
				return r.WriteJSON(cmd.OutOrStdout())
			}
			return r.WriteText(cmd.OutOrStdout())
		},
	}
	cmd.Flags().IntVar(&o.Rounds, "rounds", 5, "number of measurements of each case; cases that take less than 5 s of CPU are measured three times as often")
	cmd.Flags().StringVar(&cases, "cases", ".*", "regular expression for the cases to measure, such as 'w-.*|kustomize-flat'; writer selects the benchmark of the writer")
	cmd.Flags().StringVarP(&output, "output", "o", "text", "print format: text, json")
	cmd.Flags().StringVar(&docs, "docs", "", "Markdown file in which to replace the figures")
	return cmd
}

// newRules returns the command that measures how long Prometheus takes to evaluate rules.
func newRules() *cobra.Command {
	var jobs []int
	var rounds int
	var docs string
	cmd := &cobra.Command{
		Use:   "rules",
		Short: "Measure how long Prometheus takes to evaluate rules",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if rounds < 1 || slices.ContainsFunc(jobs, func(n int) bool { return n < 1 }) {
				return fmt.Errorf("--rounds %d, --jobs %v: want numbers of at least 1", rounds, jobs)
			}
			r, err := bench.RunRules(jobs, rounds, os.Stderr)
			if err != nil {
				return err
			}
			if docs != "" {
				if err := r.UpdateDocs(docs); err != nil {
					return err
				}
			}
			return r.WriteText(cmd.OutOrStdout())
		},
	}
	cmd.Flags().IntSliceVar(&jobs, "jobs", []int{10, 100}, fmt.Sprintf("numbers of TrainJobs per tenant; each number is measured with %d tenants, and 1000 needs about 16 GB of memory", bench.RulesTenants))
	cmd.Flags().IntVar(&rounds, "rounds", 3, "number of evaluations of each rule group")
	cmd.Flags().StringVar(&docs, "docs", "", "Markdown file in which to replace the figures of rules")
	return cmd
}

// newWorkload returns the command that writes a workload's document to standard output, for example for
// inspection.
func newWorkload() *cobra.Command {
	var name string
	var revision int
	names := slices.Sorted(maps.Keys(workload.Sizes()))
	cmd := &cobra.Command{
		Use:   "workload",
		Short: "Write the platform document of a workload to standard output",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			size, ok := workload.Sizes()[name]
			if !ok {
				return fmt.Errorf("--size %s: want one of %s", name, strings.Join(names, ", "))
			}
			text, err := size.Document(revision)
			if err == nil {
				_, err = cmd.OutOrStdout().Write(text)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&name, "size", "W", "one of "+strings.Join(names, ", "))
	cmd.Flags().IntVar(&revision, "revision", 0, "any number other than 0 changes one value")
	return cmd
}
