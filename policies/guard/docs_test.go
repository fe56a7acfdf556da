package guard_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/policies/guard"
	"github.com/trainyard/trainyard/test/repo"
)

// TestRulesHaveOneOrder checks that the package "guard", the policy in CEL and docs/admission.md list the same
// rules in the same order.
func TestRulesHaveOneOrder(t *testing.T) {
	var want []string
	for _, rule := range guard.Rules() {
		want = append(want, string(rule.Rule))
	}
	for file, names := range map[string]*regexp.Regexp{
		"docs/admission.md":                regexp.MustCompile("(?m)^\\| `([a-z]+-[a-z-]+)` \\|[^|]*\\|[^|]*\\|[^|]*\\|$"),
		"policies/admission/admission.cue": regexp.MustCompile(`"([a-z]+-[a-z-]+)",`),
	} {
		text, err := os.ReadFile(repo.Path(t, file))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, match := range names.FindAllStringSubmatch(string(text), -1) {
			got = append(got, match[1])
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -Go +file:\n%s", file, diff)
		}
	}
}
