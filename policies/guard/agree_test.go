package guard_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/generator/trainjob"
	"github.com/trainyard/trainyard/policies/cases"
	"github.com/trainyard/trainyard/policies/guard"
	"github.com/trainyard/trainyard/policies/internal/acme"
)

// versionsOf says for which versions of Trainer the files of policies/testdata are.
var versionsOf = map[string][]string{
	"any.yaml": {"2.1", "2.2", "2.3"}, "overrides.yaml": {"2.1"}, "patches.yaml": {"2.2", "2.3"},
}

// TestCasesOfThePolicy: what the policy refuses in its own tests, guard refuses by the same rules,
// and what it admits, it admits; updates and exempt users are among them.
func TestCasesOfThePolicy(t *testing.T) {
	objects := acme.Objects(t)
	files, err := trainjob.ReadCases("../testdata")
	if err != nil {
		t.Fatal(err)
	}
	for file, all := range files {
		versions := versionsOf[filepath.Base(file)]
		if len(versions) == 0 {
			t.Errorf("%s is for no version of Trainer", file)
		}
		for _, version := range versions {
			for _, c := range all {
				t.Run(version+"/"+c.Name, func(t *testing.T) {
					if diff := cmp.Diff(c.Refused, rulesBroken(t, objects, version, c.Case)); diff != "" {
						t.Errorf("-policy +guard:\n%s", diff)
					}
				})
			}
		}
	}
}

// rulesBroken are the rules that guard finds broken, each once.
func rulesBroken(t *testing.T, objects []map[string]any, version string, c cases.Case) []string {
	t.Helper()
	parameters, _, err := guard.Find(objects, c.Tenant)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := guard.ReaderFor(version)
	if err != nil {
		t.Fatal(err)
	}
	denials, wrong := reader.Judge(guard.Request{User: c.User, TrainJob: c.TrainJob, Before: c.Before}, parameters)
	if len(wrong) > 0 {
		t.Fatalf("values of wrong types: %v", wrong)
	}
	var rules []string
	for _, d := range denials {
		rules = append(rules, string(d.Rule))
	}
	return slices.Compact(rules)
}
