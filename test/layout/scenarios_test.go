package layout

import (
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/trainyard/trainyard/test/repo"
)

// testedScenarios lists the scenarios that must have a test. Each entry is the beginning of a table cell
// in docs/scenarios.md.
var testedScenarios = []string{
	"a team can neither see nor change", "the pods of a TrainJob over the quota", "network policies isolate real pods", "viewers can neither submit",
	"resource quota boundary", "network policy conflicts", "Istio service mesh conflicts", "slot configuration mismatch",
}

// rowPattern matches a table row in docs/scenarios.md: a scenario, the name of a test for the scenario, and the
// folder of this test.
var rowPattern = regexp.MustCompile("(?m)^\\| ([^|]+) \\| `(Test[A-Za-z0-9]+)` \\| `([a-z0-9/]+)` \\|$")

// TestScenariosHaveTests: each test that docs/scenarios.md lists exists, and each entry of testedScenarios has a test.
func TestScenariosHaveTests(t *testing.T) {
	text := string(read(t, "docs/scenarios.md"))
	rows := rowPattern.FindAllStringSubmatch(text, -1)
	if lines := strings.Count(text, "\n| "); lines != len(rows)+1 { // one of the lines is the table's heading
		t.Errorf("docs/scenarios.md has %d table rows, but only %d contain the name and folder of a test", lines-1, len(rows))
	}
	missing := map[string]bool{}
	for _, scenario := range testedScenarios {
		missing[scenario] = true
	}
	for _, r := range rows {
		for scenario := range missing {
			if strings.HasPrefix(r[1], scenario) {
				delete(missing, scenario)
			}
		}
		if !hasTest(t, r[3], r[2]) {
			t.Errorf("%s: there is no test %s in %s", r[1], r[2], r[3])
		}
	}
	for scenario := range missing {
		t.Errorf("no test of %s", scenario)
	}
	if hasTest(t, "test/layout", "TestThatIsNot") {
		t.Error("hasTest() = true for a test that does not exist, want false")
	}
}

func hasTest(t *testing.T, folder, name string) bool {
	t.Helper()
	for _, file := range repo.Files(t) {
		if path.Dir(file) == folder && strings.HasSuffix(file, "_test.go") && strings.Contains(string(read(t, file)), "\nfunc "+name+"(t *testing.T) {") {
			return true
		}
	}
	return false
}
