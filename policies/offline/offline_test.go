package offline_test

import (
	"path"
	"slices"
	"testing"

	"github.com/trainyard/trainyard/generator/trainjob"
	"github.com/trainyard/trainyard/policies/cases"
	"github.com/trainyard/trainyard/policies/guard"
	"github.com/trainyard/trainyard/policies/internal/acme"
	"github.com/trainyard/trainyard/policies/offline"
)

// TestCasesAreJudgedAsTheySay: the policy refuses by the rules that it should, and says
// what it should.
func TestCasesAreJudgedAsTheySay(t *testing.T) {
	objects := acme.Objects(t)
	policies, err := offline.Compile(objects)
	if err != nil {
		t.Fatal(err)
	}
	files, err := trainjob.ReadCases("../testdata")
	if err != nil {
		t.Fatal(err)
	}
	for file, all := range files {
		for _, c := range all {
			t.Run(file+"/"+c.Name, func(t *testing.T) {
				outcome, err := policies.Try(t.Context(), c.Case)
				if err != nil {
					t.Fatal(err)
				}
				if unlike, is := c.Unlike(outcome); is {
					t.Error(unlike)
				}
				if got := guardRules(t, objects, file, c.Case); !slices.Equal(got, c.Refused) {
					t.Errorf("guard has %v against it, want %v", got, c.Refused)
				}
			})
		}
	}
}

// guardRules are the rules that guard finds broken, each once.
func guardRules(t *testing.T, objects []map[string]any, file string, c cases.Case) []string {
	t.Helper()
	parameters, reader, err := guard.Find(objects, c.Tenant)
	if err == nil && path.Base(file) == "patches.yaml" {
		reader, err = guard.ReaderFor("2.3")
	}
	if err != nil {
		t.Fatal(err)
	}
	denials, wrong := reader.Judge(guard.Request{User: c.User, TrainJob: c.TrainJob, Before: c.Before}, parameters)
	if len(wrong) > 0 {
		t.Fatalf("no TrainJob that an API server takes: %v", wrong)
	}
	var rules []string
	for _, denial := range denials {
		if len(rules) == 0 || rules[len(rules)-1] != string(denial.Rule) {
			rules = append(rules, string(denial.Rule))
		}
	}
	return rules
}
