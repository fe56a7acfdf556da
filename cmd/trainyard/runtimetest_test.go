package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/trainyard/trainyard/api/jobs/trial"
)

// TestAProgramReadsEveryTest that was made, and nothing where none was.
func TestAProgramReadsEveryTest(t *testing.T) {
	enough := errors.New("enough")
	good := []trial.Check{{Name: "placed", Status: trial.Passed}}
	bad := []trial.Check{{Name: "placed", Status: trial.Failed}}
	for name, tc := range map[string]struct {
		result trial.Result
		err    error
		code   int
		silent bool
	}{
		"that passed":              {trial.Result{Job: "a", Passed: true, Checks: good}, nil, exitOK, false},
		"that failed":              {trial.Result{Job: "a", Checks: bad}, nil, exitFailed, false},
		"whose time was over":      {trial.Result{Job: "a", Checks: bad, TimedOut: true}, nil, exitTimedOut, false},
		"that was interrupted":     {trial.Result{Job: "a", Checks: good, Error: "enough"}, enough, exitInternal, false},
		"that was never made":      {trial.Result{}, enough, exitInternal, true},
		"whose job is still there": {trial.Result{Job: "a", Passed: true, Checks: good}, enough, exitInternal, false},
	} {
		t.Run(name, func(t *testing.T) {
			var out, words bytes.Buffer
			f := runtimeTest{output: "json"}
			err := f.tell(streams{out: &out, err: &words}, tc.result, tc.err)
			if got := judge(err).ExitCode; got != tc.code {
				t.Errorf("exit code %d, want %d: %v", got, tc.code, err)
			}
			if silent := out.Len() == 0; silent != tc.silent {
				t.Fatalf("standard output is %q", &out)
			}
			if !tc.silent && json.Unmarshal(out.Bytes(), new(trial.Result)) != nil {
				t.Errorf("no single object of JSON: %s", &out)
			}
		})
	}
}
