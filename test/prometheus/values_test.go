package prometheus

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"

	"github.com/trainyard/trainyard/grafana/panels"
	"github.com/trainyard/trainyard/test/grafanadata"
)

// readValues reads the test cases of testdata/values.cue. This file is not part of the package grafana, because the
// binary contains that package.
func readValues(t *testing.T) map[string]grafanadata.Record {
	t.Helper()
	text, err := os.ReadFile("testdata/values.cue")
	if err != nil {
		t.Fatal(err)
	}
	var records map[string]grafanadata.Record
	if err := cuecontext.New().CompileBytes(text).LookupPath(cue.ParsePath("records")).Decode(&records); err != nil {
		t.Fatal(err)
	}
	return records
}

// TestImportantRecordsHaveTests checks that each recording rule has a test with values worked out by hand, if an alert
// or the dashboard "tenant" queries the rule. The results of all other rules are only compared with a golden: earlier
// results, not worked out by hand (TestRulesOnAServer).
func TestImportantRecordsHaveTests(t *testing.T) {
	g, values := grafana(t), readValues(t)
	for name := range queriedRecords(t, g) {
		if len(g.Records[name].Tests)+len(values[name].Tests) == 0 {
			t.Errorf("%s has no test: add one to testdata/values.cue", name)
		}
	}
}

var recordName = regexp.MustCompile(`trainyard:[a-z0-9_]+:[a-z0-9_]+`)

// queriedRecords returns the names of the recording rules that alerts or the dashboard "tenant" query.
func queriedRecords(t *testing.T, g grafanadata.Grafana) map[string]bool {
	t.Helper()
	var expressions []string
	for _, a := range g.Alerts {
		expressions = append(expressions, a.Expr, a.ExprAlone)
	}
	dashboards, err := panels.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dashboards {
		for _, p := range d.Panels {
			for _, q := range p.Queries {
				if d.Name == "tenant" {
					expressions = append(expressions, q.Expr)
				}
			}
		}
	}
	names := map[string]bool{}
	for _, name := range recordName.FindAllString(strings.Join(expressions, "\n"), -1) {
		names[name] = true
	}
	return names
}
