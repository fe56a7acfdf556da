package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/trainyard/trainyard/api/jobs/trial"
)

func TestRuntimeTestPrintsJSON(t *testing.T) {
	interrupted := errors.New("interrupted")
	good := []trial.Check{{Name: "placed", Status: trial.Passed}}
	bad := []trial.Check{{Name: "placed", Status: trial.Failed}}
	for name, tc := range map[string]struct {
		result trial.Result
		err    error
		code   int
		empty  bool
	}{
		"that passed":            {trial.Result{Job: "a", Passed: true, Checks: good}, nil, exitOK, false},
		"that failed":            {trial.Result{Job: "a", Checks: bad}, nil, exitFailed, false},
		"that timed out":         {trial.Result{Job: "a", Checks: bad, TimedOut: true}, nil, exitTimedOut, false},
		"that was interrupted":   {trial.Result{Job: "a", Checks: good, Error: "interrupted"}, interrupted, exitInternal, false},
		"that was never started": {trial.Result{}, interrupted, exitInternal, true},
		"that left its job":      {trial.Result{Job: "a", Passed: true, Checks: good}, interrupted, exitInternal, false},
	} {
		t.Run(name, func(t *testing.T) {
			var out, messages bytes.Buffer
			f := runtimeTestFlags{output: "json"}
			err := f.finish(streams{out: &out, err: &messages}, tc.result, tc.err)
			if got := interpretError("trainyard runtime test", err).ExitCode; got != tc.code {
				t.Errorf("exit code %d, want %d: %v", got, tc.code, err)
			}
			if empty := out.Len() == 0; empty != tc.empty {
				t.Fatalf("standard output is %q", &out)
			}
			if !tc.empty && json.Unmarshal(out.Bytes(), new(trial.Result)) != nil {
				t.Errorf("want one JSON object, got: %s", &out)
			}
		})
	}
}
