package layout

import (
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/trainyard/trainyard/test/repo"
)

// scenarios are those that have to have a test of their own.
var scenarios = []string{
	"US4.1", "US4.2", "US4.3", "US4.4",
	"resource quota boundary", "network policy conflicts", "Istio service mesh conflicts", "slot configuration mismatch",
}

// row is a scenario of docs/scenarios.md, its test and the folder of that.
var row = regexp.MustCompile("(?m)^\\| ([^|]+) \\| `(Test[A-Za-z0-9]+)` \\| `([a-z0-9/]+)` \\|$")

// TestScenariosHaveTests: those that the documentation names are there.
func TestScenariosHaveTests(t *testing.T) {
	text := string(read(t, "docs/scenarios.md"))
	rows := row.FindAllStringSubmatch(text, -1)
	if lines := strings.Count(text, "\n| "); lines != len(rows)+1 { // and the heading
		t.Errorf("docs/scenarios.md has %d lines with cells, and %d of them name a test", lines-1, len(rows))
	}
	missing := map[string]bool{}
	for _, scenario := range scenarios {
		missing[scenario] = true
	}
	for _, r := range rows {
		for scenario := range missing {
			if strings.HasPrefix(r[1], scenario) {
				delete(missing, scenario)
			}
		}
		if !hasTest(t, r[3], r[2]) {
			t.Errorf("%s: no %s in %s", r[1], r[2], r[3])
		}
	}
	for scenario := range missing {
		t.Errorf("no test of %s", scenario)
	}
	if hasTest(t, "test/layout", "TestThatIsNot") {
		t.Error("a test that is gone would not be missed")
	}
}

// hasTest looks for a test function in a folder.
func hasTest(t *testing.T, folder, name string) bool {
	t.Helper()
	for _, file := range repo.Files(t) {
		if path.Dir(file) == folder && strings.HasSuffix(file, "_test.go") && strings.Contains(string(read(t, file)), "\nfunc "+name+"(t *testing.T) {") {
			return true
		}
	}
	return false
}
