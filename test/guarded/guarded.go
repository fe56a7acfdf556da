// Package guarded says what guard makes of cases, for tests that compare it with other judges.
package guarded

import (
	"slices"
	"testing"

	"github.com/trainyard/trainyard/policies/cases"
	"github.com/trainyard/trainyard/policies/guard"
)

// Rules are those that guard finds broken, each once. Values of wrong types fail the test: the API server takes none.
func Rules(t testing.TB, reader guard.Reader, parameters guard.Parameters, c cases.Case) []string {
	t.Helper()
	denials, wrong := reader.Judge(guard.Request{User: c.User, TrainJob: c.TrainJob, Before: c.Before}, parameters)
	if len(wrong) > 0 {
		t.Fatalf("no TrainJob that an API server takes: %v", wrong)
	}
	var rules []string
	for _, denial := range denials {
		rules = append(rules, string(denial.Rule))
	}
	return slices.Compact(rules)
}
