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
	"strings"

	"github.com/spf13/cobra"

	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/generator/problem"
	"github.com/trainyard/trainyard/generator/trainjob"
	"github.com/trainyard/trainyard/policies/cases"
	"github.com/trainyard/trainyard/reports"
)

func newPolicy(s streams, r *reporter) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Test what TrainJobs may ask for",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newPolicyTest(s, r))
	return cmd
}

func newPolicyTest(s streams, r *reporter) *cobra.Command {
	var f inputFlags
	var format string
	cmd := &cobra.Command{
		Use:   "test DIR",
		Short: "Try TrainJobs on the admission policies of a platform, without a cluster",
		Long: `Hold TrainJobs with expected verdicts against the ValidatingAdmissionPolicies of a platform, with the
evaluator of the API server itself: unit tests of a platform. Each *.yaml of the folder has cases:

  apiVersion: trainyard.dev/v1alpha1
  kind: PolicyTest
  cases:
  - name: more nodes than the runtime allows
    tenant: team-vision
    trainJob: {spec: {runtimeRef: {name: mpi-horovod-gpu}, trainer: {numNodes: 17}}}
    refused: [nodes]         # by these rules, all of them in their order; or admitted: true
    says: want 1 to 16       # in the first message; may be left out

Another user than somebody is "user", and the TrainJob that an update changes is "before".

Each case is a line with its place; of one that fails, that of what it expects, and those in its
TrainJob that a rule is about. A file that is no such test ends with exit code 3, and cases that
fail with 7.

Formats of -o:
` + outcomeHelp() + `
Failed cases are also the problems of --report.`,
		Example: `  # Try all cases
  trainyard policy test tests/ -f platform.yaml --env prod

  # Which of them fail?
  trainyard policy test tests/ -f platform.yaml -o json | jq -r '.[] | select(.status == "failed") | "\(.file):\(.line) \(.name)"'

  # For a CI system that shows test results
  trainyard policy test tests/ -f platform.yaml -o junit > policy-tests.xml

  # In GitHub Actions: failures show beside the lines of a pull request
  trainyard policy test tests/ -f platform.yaml --report github 2>&1`,
		RunE: func(cmd *cobra.Command, folders []string) error {
			if len(folders) != 1 {
				return &usageError{fmt.Errorf("want one folder of tests, got %d", len(folders))}
			}
			if err := oneOf("-o", format, outcomeNames()); err != nil {
				return err
			}
			return testPolicies(cmd.Context(), s, f, folders[0], format)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
	}
	f.add(cmd, r, func() bool { return false })
	cmd.Flags().StringVarP(&format, "output", "o", "text", "print format: "+strings.Join(outcomeNames(), ", "))
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(outcomeNames(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// evaluator is the program that evaluates policies. Kubernetes' evaluator takes milliseconds to
// start, which every other command would have to wait for if it were in here.
const evaluator = "trainyard-policy"

// unlikeError says which cases of policy tests did not come out as they should.
type unlikeError struct {
	problem.List
	what string
	told bool // whether they have been told in words
}

// report has the cases that failed, unless they have been told.
func (u *unlikeError) report() reports.Report {
	report := reports.Report{ExitCode: exitFailed, Failures: []string{"trainyard: " + u.what}}
	if !u.told {
		report.Problems = u.List
	}
	return report
}

// testPolicies tries all cases of a folder, in each environment of the document.
func testPolicies(ctx context.Context, s streams, f inputFlags, folder, format string) error {
	files, err := trainjob.ReadCases(folder)
	if wrong := (problem.List)(nil); errors.As(err, &wrong) {
		return err
	} else if err != nil {
		return &usageError{err}
	}
	platforms, err := f.generate(ctx, s.in)
	if err != nil {
		return err
	}
	if err := misfits(files, platforms); err != nil {
		return err
	}
	var all []outcome
	for _, platform := range platforms {
		for _, file := range slices.Sorted(maps.Keys(files)) {
			outcomes, err := try(ctx, platform, files[file])
			if err != nil {
				return err
			}
			all = append(all, outcomes...)
		}
	}
	if err := outcomeFormats[format].print(s.out, all); err != nil {
		return fmt.Errorf("printing outcomes: %w", err)
	}
	return failures(all, format == "text" && f.report.words())
}

// misfits are values that no API server takes, as an error: what is wrong with a test is no verdict.
func misfits(files map[string][]trainjob.Case, platforms []generator.Platform) error {
	var found problem.List
	for _, platform := range platforms {
		rules, err := trainjob.NewPlatform(platform.Environment, platform.Objects)
		if err != nil {
			return err
		}
		for _, tried := range files {
			for _, c := range tried {
				for _, p := range c.Misfits(rules) {
					if !slices.Contains(found, p) { // it may be so in each environment
						found = append(found, p)
					}
				}
			}
		}
	}
	return found.Err()
}

// try asks the evaluator about the cases of a file.
func try(ctx context.Context, platform generator.Platform, tried []trainjob.Case) ([]outcome, error) {
	question := cases.Question{Objects: fieldsOf(platform)}
	for _, c := range tried {
		question.Cases = append(question.Cases, c.Case)
	}
	answers, err := evaluate(ctx, question)
	if err != nil {
		return nil, err
	}
	all := make([]outcome, len(tried))
	for i, c := range tried {
		all[i] = outcomeOf(platform.Environment, c, answers[i])
	}
	return all, nil
}

// failures are the cases that failed, as an error.
func failures(all []outcome, told bool) error {
	var failed problem.List
	for _, o := range all {
		if o.Status == failedCase {
			p := o.problem
			if o.Environment != "" {
				p.Message += " (in environment " + o.Environment + ")"
			}
			failed = append(failed, p)
		}
	}
	if len(failed) == 0 {
		return nil
	}
	_ = failed.Err() // sorts them
	return &unlikeError{failed, fmt.Sprintf("%d of %s failed", len(failed), count(len(all), "case")), told}
}

// evaluate asks the evaluator, which lies beside this program or where the shell finds it.
func evaluate(ctx context.Context, question cases.Question) ([]cases.Outcome, error) {
	text, err := json.Marshal(question)
	if err != nil {
		return nil, fmt.Errorf("asking %s: %w", evaluator, err)
	}
	program, err := findEvaluator()
	if err != nil {
		return nil, &usageError{fmt.Errorf("want the program %s beside trainyard or in PATH: %w", evaluator, err)}
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
	var answer cases.Answer
	if err := json.Unmarshal(out, &answer); err != nil {
		return nil, fmt.Errorf("reading what %s says: %w", program, err)
	}
	if answer.Error != "" || len(answer.Outcomes) != len(question.Cases) {
		return nil, fmt.Errorf("evaluating: %s (%d outcomes of %s)", answer.Error, len(answer.Outcomes), count(len(question.Cases), "case"))
	}
	return answer.Outcomes, nil
}

func findEvaluator() (string, error) {
	if self, err := os.Executable(); err == nil {
		if beside := filepath.Join(filepath.Dir(self), evaluator); isFile(beside) {
			return beside, nil
		}
	}
	return exec.LookPath(evaluator)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// fieldsOf are the objects of a platform, as decoded JSON.
func fieldsOf(platform generator.Platform) []map[string]any {
	var all []map[string]any
	for o := range platform.Objects.All() {
		all = append(all, o.Fields())
	}
	return all
}
