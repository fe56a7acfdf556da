package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/generator/foreign"
	"github.com/trainyard/trainyard/generator/problem"
	"github.com/trainyard/trainyard/reports"
)

func newVet(s streams, r *reporter) *cobra.Command {
	var f inputFlags
	var fits fitFlags
	var jobs jobFlags
	var traps, schema bool
	cmd := &cobra.Command{
		Use:   "vet [TRAINJOBS...]",
		Short: "Check a platform document, training runtimes, or TrainJobs, and write nothing",
		Long: `Check a platform document in all its environments: every problem at once, one line per
cause, each with the place in the file, what is wrong and what is allowed. What works, but
may surprise, is a note.

A file of ClusterTrainingRuntimes or TrainingRuntimes, whoever wrote them, is checked for the
traps of MPI on Kubeflow Trainer, each by its name. --traps lists them.

Files of TrainJobs, named without -f, are held against what the platform document lets a tenant ask
for, by the same rules as in the cluster: each that is broken, and what to change. What is
denied ends with another exit code than what cannot be read.

With --fit it prints how large the TrainJobs of each runtime can be in each tenant's namespace,
while nothing else runs there, and which bound decides on that.

Reports:
` + reportHelp() + `
All but text go to standard output.`,
		Example: `  # Check a document before committing it
  trainyard vet -f platform.yaml

  # Check what another layer makes of it
  trainyard vet -f platform.yaml -f trainer-2.1.yaml

  # Check in GitHub Actions: problems show beside the lines of a pull request
  trainyard vet -f platform.yaml --report github

  # Check for GitHub code scanning, to upload with github/codeql-action/upload-sarif
  trainyard vet -f platform.yaml --report sarif > trainyard.sarif

  # Take the places of all problems
  trainyard vet -f platform.yaml --report json | jq -r '.problems[] | "\(.file):\(.line)"'

  # Which runtimes can never run, and where?
  trainyard vet -f platform.yaml --fit -o json | jq -r '.[] | select(.fits == "never") | "\(.tenant) \(.runtime)"'

  # May a team submit these TrainJobs?
  trainyard vet job.yaml -f platform.yaml --tenant team-vision
  kustomize build jobs/ | trainyard vet - -f platform.yaml --env prod

  # Check the runtimes of a cluster
  kubectl get clustertrainingruntimes -o yaml | trainyard vet -f -`,
		Args: jobs.args(&f),
		RunE: func(cmd *cobra.Command, files []string) error {
			switch {
			case len(files) > 0:
				return jobs.vet(cmd.Context(), s, f, files)
			case (traps || schema) && !r.words():
				return &usageError{errors.New("--traps and --report-schema check nothing, so that there is no report: leave --report out")}
			case traps:
				return printTraps(s.out)
			case schema:
				_, err := io.WriteString(s.out, reports.Schema)
				return err
			}
			if err := fits.check(cmd, r); err != nil {
				return err
			}
			if fits.wanted {
				return fits.print(cmd.Context(), s, f)
			}
			return vet(cmd.Context(), s, f)
		},
	}
	f.add(cmd, r, func() bool { return true })
	fits.add(cmd)
	jobs.add(cmd, &f)
	cmd.Flags().BoolVar(&traps, "traps", false, "list the traps that runtimes are checked for")
	cmd.Flags().BoolVar(&schema, "report-schema", false, "print the JSON Schema of --report json")
	return cmd
}

func vet(ctx context.Context, s streams, f inputFlags) error {
	request, err := f.request(s.in)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(request.Layers, isRuntimes) {
		if f.environmentGiven() {
			return &usageError{errors.New("--env is about a platform document, and training runtimes have no environments")}
		}
		return vetRuntimes(s, f.report, request)
	}
	if err := misplacedJobs(request).Err(); err != nil {
		return err
	}
	platforms, err := newPipeline().Generate(ctx, request)
	f.report.note(notesOf(platforms))
	if err != nil || !f.report.words() {
		return err
	}
	fmt.Fprintf(s.err, "%s: no problems, makes %s\n", names(request), made(platforms))
	return nil
}

func isRuntimes(layer generator.Input) bool { return foreign.Is(layer.Name, layer.Text) }

// vetRuntimes checks files of training runtimes, each by itself.
func vetRuntimes(s streams, r *reporter, request generator.Request) error {
	var problems, notes problem.List
	total := 0
	for _, file := range request.Layers {
		if !isRuntimes(file) {
			return &usageError{fmt.Errorf("%s is no file of training runtimes: want runtimes or a platform document, and not both", file.Name)}
		}
		found, err := foreign.Vet(file.Name, file.Text)
		var unreadable problem.List
		if err != nil && !errors.As(err, &unreadable) {
			return err
		}
		problems = slices.Concat(problems, unreadable, found.Problems)
		notes, total = append(notes, found.Notes...), total+found.Runtimes
	}
	r.note(notes)
	if err := problems.Err(); err != nil || !r.words() {
		return err
	}
	fmt.Fprintf(s.err, "%s: no problems in %s\n", names(request), count(total, "runtime"))
	return nil
}

func printTraps(w io.Writer) error {
	for _, trap := range foreign.Traps() {
		if _, err := fmt.Fprintf(w, "%-16s %s\n", trap.Name, trap.Doc); err != nil {
			return err
		}
	}
	return nil
}

// made says how many objects come of a document, by environment.
func made(platforms []generator.Platform) string {
	total, each := 0, make([]string, len(platforms))
	for i, p := range platforms {
		total += p.Objects.Len()
		each[i] = fmt.Sprintf("%d in %s", p.Objects.Len(), p.Environment)
	}
	if len(platforms) == 1 && platforms[0].Environment == "" {
		return count(total, "object")
	}
	return fmt.Sprintf("%s: %s", count(total, "object"), strings.Join(each, ", "))
}
