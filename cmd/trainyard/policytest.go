package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/policies/cases"
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

Another user than somebody is "user", and the TrainJob that an update changes is "before".`,
		Example: `  trainyard policy test tests/ -f platform.yaml --env prod`,
		RunE: func(cmd *cobra.Command, folders []string) error {
			if len(folders) != 1 {
				return &usageError{fmt.Errorf("want one folder of tests, got %d", len(folders))}
			}
			return testPolicies(cmd.Context(), s, f, folders[0])
		},
	}
	f.add(cmd, r, func() bool { return false })
	return cmd
}

// evaluator is the program that evaluates policies. Kubernetes' evaluator takes milliseconds to
// start, which every other command would have to wait for if it were in here.
const evaluator = "trainyard-policy"

// testPolicies tries all cases of a folder, in each environment of the document.
func testPolicies(ctx context.Context, s streams, f inputFlags, folder string) error {
	files, err := cases.Read(folder)
	if err != nil {
		return &usageError{err}
	}
	platforms, err := f.generate(ctx, s.in)
	if err != nil {
		return err
	}
	total, failed := 0, 0
	for _, platform := range platforms {
		for _, file := range slices.Sorted(maps.Keys(files)) {
			outcomes, err := evaluate(ctx, cases.Question{Objects: fieldsOf(platform), Cases: files[file]})
			if err != nil {
				return err
			}
			where := file
			if platform.Environment != "" {
				where += " in " + platform.Environment
			}
			wrong, err := printOutcomes(s.out, where, files[file], outcomes)
			if err != nil {
				return err
			}
			total, failed = total+len(outcomes), failed+wrong
		}
	}
	if failed > 0 {
		return &failedError{what: fmt.Sprintf("%d of %s failed", failed, count(total, "case"))}
	}
	return nil
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
	cmd.Stdin, cmd.Stderr = bytes.NewReader(text), os.Stderr
	out, err := cmd.Output()
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

// printOutcomes prints a line for each case, and returns how many failed.
func printOutcomes(w io.Writer, where string, all []cases.Case, outcomes []cases.Outcome) (int, error) {
	failed := 0
	for i, c := range all {
		line := fmt.Sprintf("ok      %s: %s", where, c.Name)
		if unlike := outcomes[i].Unlike(c); unlike != "" {
			line = fmt.Sprintf("FAILED  %s: %s: %s", where, c.Name, unlike)
			failed++
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return 0, err
		}
	}
	return failed, nil
}

// fieldsOf are the objects of a platform, as decoded JSON.
func fieldsOf(platform generator.Platform) []map[string]any {
	var all []map[string]any
	for o := range platform.Objects.All() {
		all = append(all, o.Fields())
	}
	return all
}
