package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trainyard/trainyard/cmd/internal/report"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/generator/problem"
	runtimevet "github.com/trainyard/trainyard/generator/vet/runtime"
	"github.com/trainyard/trainyard/generator/vet/trainjob"
)

type vetFlags struct {
	input                 inputFlags
	capacity              capacityFlags
	jobs                  trainJobFlags
	traps, schema, strict bool
}

func newVet(s streams, r *reporter) *cobra.Command {
	var v vetFlags
	cmd := &cobra.Command{
		Use:   "vet [TRAINJOBS...]",
		Short: "Check a platform document, training runtimes or TrainJobs",
		Long: `Check a platform document, training runtimes or TrainJobs. The command writes no files.

A platform document is checked in all its environments. Each problem is one line: its position in the
file, what is wrong, and what is allowed. A note is about valid input with a consequence that you may
not expect. With --strict, the exit code is 3 if there are notes. At the end, the command prints what
the objects need in the cluster, such as namespaces.

A file of ClusterTrainingRuntimes or TrainingRuntimes from any source is checked for the traps of MPI
on Kubeflow Trainer. --traps lists the traps.

Files of TrainJobs are arguments without -f. The rules that the platform document gives the tenant
apply to the TrainJobs, as in the cluster. The exit code is 5 if a TrainJob breaks a rule, and 3 if a file
cannot be parsed or the API server would refuse a TrainJob.

--fit prints how many nodes a TrainJob of each runtime can have in the namespace of each tenant, and which
bound limits this number. It assumes that nothing else runs there. If the document has problems, the
command prints the problems instead.

Reports:
` + reportFormats().help() + `
Formats other than text go to standard output.`,
		Example: `  # Check a document before you commit it
  trainyard vet -f platform.yaml

  # Check the document with a layer over it
  trainyard vet -f platform.yaml -f trainer-2.1.yaml

  # In GitHub Actions: show problems next to the lines of a pull request
  trainyard vet -f platform.yaml --report github

  # For GitHub code scanning: write a file for github/codeql-action/upload-sarif
  trainyard vet -f platform.yaml --report sarif > trainyard.sarif

  # In CI: also fail if there are notes
  trainyard vet -f platform.yaml --strict

  # List the positions of all problems
  trainyard vet -f platform.yaml --report json | jq -r '.problems[] | "\(.file):\(.line)"'

  # Which TrainJobs need fewer nodes than their runtime's default?
  trainyard vet -f platform.yaml --fit -o json | jq -r '.[] | select(.fits == "smaller") | "\(.tenant) \(.runtime)"'

  # Does the platform admit these TrainJobs?
  trainyard vet job.yaml -f platform.yaml --tenant team-vision
  kustomize build jobs/ | trainyard vet - -f platform.yaml --env prod

  # Check the runtimes of a cluster
  kubectl get clustertrainingruntimes -o yaml | trainyard vet -f -`,
		Args: v.jobs.checkArgs(&v.input),
		RunE: func(cmd *cobra.Command, files []string) error { return v.run(cmd, s, r, files) },
	}
	v.input.add(cmd, r, func() bool { return true })
	v.capacity.add(cmd)
	v.jobs.add(cmd, &v.input)
	cmd.Flags().BoolVar(&v.strict, "strict", false, "exit with code 3 if there are notes")
	cmd.Flags().BoolVar(&v.traps, "traps", false, "list the traps that the command looks for in training runtimes")
	cmd.Flags().BoolVar(&v.schema, "report-schema", false, "print the JSON Schema of --report json")
	return cmd
}

func (v *vetFlags) run(cmd *cobra.Command, s streams, r *reporter, files []string) error {
	switch {
	case len(files) > 0:
		return refuseNotes(v.strict, r, v.jobs.vet(cmd.Context(), s, v.input, files))
	case (v.traps || v.schema) && !r.isText():
		return usageErrorf("--traps and --report-schema print no report: leave --report out")
	case v.traps:
		return printTraps(s.out)
	case v.schema:
		_, err := io.WriteString(s.out, report.Schema)
		return err
	}
	if err := v.capacity.check(cmd, r); err != nil {
		return err
	}
	if v.capacity.enabled {
		if v.strict {
			return usageErrorf("--strict does not apply to --fit: leave one of them out")
		}
		return v.capacity.print(cmd.Context(), s, v.input)
	}
	return refuseNotes(v.strict, r, vet(cmd.Context(), s, v.input))
}

// refuseNotes returns an error if the flag --strict is set and the report contains notes. If the argument err is not
// nil, refuseNotes returns err instead.
func refuseNotes(strict bool, r *reporter, err error) error {
	if n := len(r.notes); err == nil && strict && n > 0 {
		return exitErrorf(exitInvalid, "found %s, and --strict allows none", count(n, "note"))
	}
	return err
}

func vet(ctx context.Context, s streams, f inputFlags) error {
	request, err := f.request(s.in)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(request.Layers, isRuntimes) {
		if f.environmentGiven() {
			return usageErrorf("--env applies only to a platform document, because training runtimes have no environments: leave --env out")
		}
		return vetRuntimes(s, f.report, request)
	}
	var misplaced problem.List // TrainJobs in files of the flag -f; files of TrainJobs must be arguments without -f
	for _, layer := range request.Layers {
		misplaced = append(misplaced, trainjob.FindMisplaced(layer.Name, layer.Text)...)
	}
	if err := misplaced.Err(); err != nil {
		return err
	}
	platforms, err := newPipeline().Generate(ctx, request)
	f.report.addNotes(combineNotes(platforms))
	if err == nil && f.report.isText() {
		fmt.Fprintf(s.err, "%s: no problems, generates %s\n", names(request), objectCounts(platforms))
	}
	if err == nil {
		f.report.addNeeds(platforms)
	}
	return err
}

func isRuntimes(layer generator.Input) bool { return runtimevet.IsRuntimeFile(layer.Name, layer.Text) }

func vetRuntimes(s streams, r *reporter, request generator.Request) error {
	var problems, notes problem.List
	total := 0
	for _, file := range request.Layers {
		if !isRuntimes(file) {
			return inputErrorf("file %s contains no training runtimes, but another file does: name only files of training runtimes, or only files of a platform document", file.Name)
		}
		result, err := runtimevet.Vet(file.Name, file.Text)
		var unreadable problem.List
		if err != nil && !errors.As(err, &unreadable) {
			return err
		}
		problems = slices.Concat(problems, unreadable, result.Problems)
		notes, total = append(notes, result.Notes...), total+result.Runtimes
	}
	r.addNotes(notes)
	err := problems.Err()
	if err == nil && r.isText() {
		fmt.Fprintf(s.err, "%s: no problems in %s\n", names(request), count(total, "runtime"))
	}
	return err
}

func printTraps(w io.Writer) error {
	return printList(w, "text", runtimevet.Traps(), func(trap runtimevet.Trap) string {
		return fmt.Sprintf("%-23s  %s", trap.Name, trap.Doc)
	})
}

func objectCounts(platforms []generator.Platform) string {
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
