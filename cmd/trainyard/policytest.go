package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/trainyard/trainyard/cmd/internal/build"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/generator/problem"
	"github.com/trainyard/trainyard/generator/vet/trainjob"
	"github.com/trainyard/trainyard/policies/cases"
)

func newPolicy(s streams, r *reporter) *cobra.Command {
	return newGroup(&cobra.Command{
		Use:     "policy",
		Short:   "Test the admission policies of a platform",
		Example: "  trainyard policy test tests/ -f platform.yaml --env prod",
	}, newPolicyTest(s, r))
}

func newPolicyTest(s streams, r *reporter) *cobra.Command {
	var f inputFlags
	var format string
	cmd := &cobra.Command{
		Use:   "test DIR",
		Short: "Test the admission policies of a platform with TrainJobs, without a cluster",
		Long: `Test the ValidatingAdmissionPolicies of a platform with TrainJobs and their expected results, like unit
tests. The command uses the policy evaluator of the API server, and needs no cluster. Each *.yaml file in
DIR contains cases:

  apiVersion: trainyard.dev/v1alpha1
  kind: PolicyTest
  cases:
  - name: more nodes than the runtime allows
    tenant: team-vision
    trainJob: {spec: {runtimeRef: {name: mpi-horovod-gpu}, trainer: {numNodes: 17}}}
    refused: [node-limit]         # all rules that refuse the TrainJob, in their order; or admitted: true
    says: want 1 to 16       # part of the first message; optional

"user" is the user who submits the TrainJob, "somebody" by default. "before" is the TrainJob that an update
changes. "namespaceLabels" are the labels of the tenant's namespace, by default those that the rules require.

Each case is one line with its position. For a failed case, this is the position of the expectation. The
line also includes the positions of the values in the TrainJob that rules refuse.

The exit code is 7 if a case failed, and 3 if a file is not a valid test.

Formats of -o:
` + resultFormats.help() + `

Failed cases are also the problems of --report.`,
		Example: `  # Run all cases
  trainyard policy test tests/ -f platform.yaml --env prod

  # List the failed cases
  trainyard policy test tests/ -f platform.yaml -o json | jq -r '.[] | select(.status == "failed") | "\(.file):\(.line) \(.name)"'

  # For a CI system that shows test results
  trainyard policy test tests/ -f platform.yaml -o junit > policy-tests.xml

  # In GitHub Actions: show failures next to the lines of a pull request
  trainyard policy test tests/ -f platform.yaml --report github 2>&1`,
		Args: wantArg(true, "one folder of tests"),
		RunE: func(cmd *cobra.Command, folders []string) error {
			return testPolicies(cmd.Context(), s, f, folders[0], format)
		},
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
	}
	f.add(cmd, r, nil)
	addOutput(cmd, &format, resultFormats)
	return cmd
}

func testPolicies(ctx context.Context, s streams, f inputFlags, folder, format string) error {
	files, err := trainjob.ReadCases(folder)
	if wrong := (problem.List)(nil); errors.As(err, &wrong) {
		return err
	} else if err != nil {
		return inputErrorf("%w", err)
	}
	platforms, err := f.generate(ctx, s.in)
	if err != nil {
		return err
	}
	if err := checkTypes(files, platforms); err != nil {
		return err
	}
	var all []caseResult
	for _, platform := range platforms {
		for _, file := range slices.Sorted(maps.Keys(files)) {
			results, err := runCases(ctx, platform, files[file])
			if err != nil {
				return err
			}
			all = append(all, results...)
		}
	}
	if err := printResults(s.out, format, all); err != nil {
		return fmt.Errorf("printing results: %w", err)
	}
	return failedCases(all, format == "text" && f.report.isText())
}

// checkTypes looks for values of a wrong type in the TrainJobs of all test cases, and returns a problem for each such
// value. Every API server would refuse a TrainJob with such a value.
func checkTypes(files map[string][]trainjob.Case, platforms []generator.Platform) error {
	var problems problem.List
	for _, platform := range platforms {
		rules, err := trainjob.NewPlatform(platform.Environment, platform.Objects)
		if err != nil {
			return err
		}
		for _, file := range files {
			for _, c := range file {
				for _, p := range c.TypeErrors(rules) {
					if !slices.Contains(problems, p) { // several environments can have the same problem
						problems = append(problems, p)
					}
				}
			}
		}
	}
	return problems.Err()
}

func runCases(ctx context.Context, platform generator.Platform, file []trainjob.Case) ([]caseResult, error) {
	var request cases.Request
	for o := range platform.Objects.All() {
		request.Objects = append(request.Objects, o.Fields())
	}
	for _, c := range file {
		request.Cases = append(request.Cases, c.Case)
	}
	outcomes, err := evaluate(ctx, request)
	if err != nil {
		return nil, err
	}
	results := make([]caseResult, len(file))
	for i, c := range file {
		results[i] = newCaseResult(platform.Environment, c, outcomes[i])
	}
	return results, nil
}

// evaluatorProgram is the program that evaluates policies. This program contains the policy evaluator of the Kubernetes
// API server. The initialization of this evaluator takes some milliseconds. The program trainyard does not contain this
// evaluator, because the initialization would delay every command.
const evaluatorProgram = "trainyard-policy"

func evaluate(ctx context.Context, request cases.Request) ([]cases.Outcome, error) {
	text, err := json.Marshal(request)
	if err != nil {
		return nil, fmt.Errorf("encoding cases: %w", err)
	}
	program, err := findEvaluator()
	if err != nil {
		return nil, inputErrorf("cannot find the program %s: %w: install it with `%s`, or build it in a clone of trainyard with `go build -o DIR ./cmd/%[1]s`, where DIR is the folder of the program trainyard or a folder in PATH", evaluatorProgram, err, build.InstallCommand(evaluatorProgram))
	}
	cmd := exec.CommandContext(ctx, program)
	cmd.Stdin = bytes.NewReader(text)
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(exit.Stderr))
	}
	if err != nil {
		return nil, fmt.Errorf("running %s: %w", program, err)
	}
	var response cases.Response
	if err := json.Unmarshal(out, &response); err != nil {
		return nil, fmt.Errorf("reading the output of %s: %w", program, err)
	}
	if response.Error != "" {
		return nil, fmt.Errorf("evaluating the cases with %s: %s", program, response.Error)
	}
	if len(response.Outcomes) != len(request.Cases) {
		return nil, fmt.Errorf("evaluating the cases: %s returned %d results for %s", program, len(response.Outcomes), count(len(request.Cases), "case"))
	}
	return response.Outcomes, nil
}

// findEvaluator returns the path of the evaluator, which is in the folder of this program or in PATH.
func findEvaluator() (string, error) {
	if self, err := os.Executable(); err == nil {
		program := filepath.Join(filepath.Dir(self), evaluatorProgram)
		if info, err := os.Stat(program); err == nil && info.Mode().IsRegular() {
			return program, nil
		}
	}
	return exec.LookPath(evaluatorProgram)
}
