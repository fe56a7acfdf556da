package prometheus

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"

	"github.com/trainyard/trainyard/grafana/panels"
	"github.com/trainyard/trainyard/test/grafanadata"
)

// panelCase is a test case of a panel: input series in promtool's notation, the time of evaluation, and the expected
// values. The field Want contains one map for each query that the case tests. The key of this map in Want is the legend
// of the query. The map contains the series that the query must return. Each key of the map consists of the labels of
// one series. The number under this key is the value that this series must have.
type panelCase struct {
	Series map[string]string
	At     string
	Want   map[string]map[string]float64
}

// panelCases maps descriptions to the test cases of a panel.
type panelCases struct{ Tests map[string]panelCase }

// readPanelCases reads the test cases in testdata/panels.cue. The keys of the result are the keys of panels, such as
// now/running.
func readPanelCases(t *testing.T) map[string]panelCases {
	t.Helper()
	text, err := os.ReadFile("testdata/panels.cue")
	if err != nil {
		t.Fatal(err)
	}
	var cases map[string]panelCases
	if err := cuecontext.New().CompileBytes(text).LookupPath(cue.ParsePath("panels")).Decode(&cases); err != nil {
		t.Fatal(err)
	}
	return cases
}

func tenantPanels(t *testing.T) map[string]panels.Panel {
	t.Helper()
	dashboards, err := panels.All()
	if err != nil {
		t.Fatal(err)
	}
	byKey := map[string]panels.Panel{}
	for _, d := range dashboards {
		for _, p := range d.Panels {
			if d.Name == "tenant" {
				byKey[p.Key] = p
			}
		}
	}
	return byKey
}

// TestTenantPanels compares the panels of the dashboard "tenant" with values worked out by hand.
// TestRulesOnAServer compares the panels of the remaining dashboards only with earlier results in a golden
// file.
func TestTenantPanels(t *testing.T) {
	files := caseFiles{Grafana: grafana(t), folder: t.TempDir()}
	byKey, queries := tenantPanels(t), panelQueries(t)
	for key, cases := range readPanelCases(t) {
		panel, found := byKey[key]
		if !found {
			t.Errorf("testdata/panels.cue contains %s, but the dashboard has no such panel", key)
		}
		for sentence, tc := range cases.Tests {
			var checks []any
			for i, query := range panel.Queries {
				if want, tested := tc.Want[query.Legend]; tested {
					checks = append(checks, hasValues(tc.At, queries[fmt.Sprintf("tenant/%s/%d", key, i)], want))
				}
			}
			if len(checks) != len(tc.Want) {
				t.Errorf("%s: %s: want values of existing queries, got %v", key, sentence, grafanadata.Sorted(tc.Want))
			}
			files.write(t, "tenant/"+key, sentence, tc.Series, map[string]any{"promql_expr_test": checks})
		}
	}
	files.run(t)
}

// hasValues returns a promtool check that an expression has exactly the samples in "want", which maps labels to
// values.
func hasValues(at, expression string, want map[string]float64) any {
	var samples []any
	for labels, value := range want {
		samples = append(samples, map[string]any{"labels": "{" + labels + "}", "value": value})
	}
	return map[string]any{"expr": expression, "eval_time": at, "exp_samples": samples}
}

// TestTenantPanelsHaveTests requires a test case for every query of the dashboard "tenant". The rule "cardinality" of
// test/dashboards requires that these queries aggregate series. Each query therefore computes new values, which need a
// test. A query that contains "or vector(0)" also needs a test case without series.
func TestTenantPanelsHaveTests(t *testing.T) {
	cases := readPanelCases(t)
	for key, panel := range tenantPanels(t) {
		for _, query := range panel.Queries {
			var tested, testedEmpty bool
			for _, tc := range cases[key].Tests {
				has := len(tc.Want[query.Legend]) > 0
				tested = tested || has && len(tc.Series) > 0
				testedEmpty = testedEmpty || has && len(tc.Series) == 0
			}
			if !tested {
				t.Errorf("%s: the query %q has no test: add one to testdata/panels.cue", key, query.Legend)
			}
			if strings.Contains(query.Expr, "or vector(") && !testedEmpty {
				t.Errorf("%s: the query %q has no test without series: add one to testdata/panels.cue", key, query.Legend)
			}
		}
		if panel.Kind == "table" {
			expectColumns(t, panel, cases[key])
		}
	}
}

// expectColumns checks that the expected samples have exactly the labels of the table's columns. Grafana joins the
// results of a table's queries by their labels, so an additional label would split rows.
func expectColumns(t *testing.T, table panels.Panel, cases panelCases) {
	t.Helper()
	var columns []string
	for _, column := range table.Columns {
		columns = append(columns, column.Label)
	}
	slices.Sort(columns)
	for _, tc := range cases.Tests {
		for legend, samples := range tc.Want {
			for labels := range samples {
				var names []string
				for label := range strings.SplitSeq(labels, ", ") {
					name, _, _ := strings.Cut(label, "=")
					names = append(names, name)
				}
				slices.Sort(names)
				if !slices.Equal(names, columns) {
					t.Errorf("%s: %s: want samples with the labels of the columns, %v, got %v", table.Key, legend, columns, names)
				}
			}
		}
	}
}
