package dashboards

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard/test/repo"
)

// exclusion is a permission for a panel to violate a lint rule. An exclusion that names no dashboard applies to
// all dashboards. An exclusion without a panel applies to all panels of the dashboard.
type exclusion struct {
	Dashboard string `json:"dashboard"`
	Panel     string `json:"panel"`
	Reason    string `json:"reason"`
}

func readExclusions(t *testing.T) map[string][]exclusion {
	t.Helper()
	text, err := os.ReadFile(repo.Path(t, "grafana", ".lint"))
	if err != nil {
		t.Fatal(err)
	}
	var read struct {
		Exclusions map[string][]exclusion `json:"exclusions"`
	}
	if err := yaml.UnmarshalStrict(text, &read); err != nil {
		t.Fatal(err)
	}
	return read.Exclusions
}

func TestDashboardsFollowTheRules(t *testing.T) {
	boards, excluded := shippedDashboards(t).grafana, readExclusions(t)
	for rule := range excluded {
		if dashboardRules[rule] == nil {
			t.Errorf("grafana/.lint names the unknown rule %s", rule)
		}
	}
	for rule, check := range dashboardRules {
		t.Run(rule, func(t *testing.T) {
			used := map[exclusion]bool{}
			for name, b := range boards {
				for _, f := range check(name, b) {
					i := slices.IndexFunc(excluded[rule], func(e exclusion) bool { return e.covers(name, f) })
					if i < 0 {
						t.Errorf("%s: %s: %s", name, f.panel, f.message)
						continue
					}
					used[excluded[rule][i]] = true
				}
			}
			for _, e := range excluded[rule] {
				if !used[e] {
					t.Errorf("grafana/.lint exempts %s %s, which follows the rule: remove this exclusion", e.Dashboard, e.Panel)
				}
				if len(strings.Fields(e.Reason)) < 4 {
					t.Errorf("grafana/.lint exempts %s %s without a reason: write a reason of at least 4 words", e.Dashboard, e.Panel)
				}
			}
		})
	}
}

func (e exclusion) covers(name string, f finding) bool {
	return (e.Dashboard == "" || e.Dashboard == name) && (e.Panel == "" || e.Panel == f.panel)
}

// TestRulesDetectViolations checks that each rule reports a violation. To check a rule, the test changes a valid
// dashboard so that the dashboard violates the rule. For a rule with an exclusion in grafana/.lint, this check is
// optional. An exclusion permits violations of the rule in some or all panels of the shipped dashboards. If the rule
// reports no violation in these panels, the exclusion is not needed. TestDashboardsFollowTheRules fails if an exclusion
// is not needed. Therefore TestDashboardsFollowTheRules also proves that each rule with an exclusion can report a
// violation.
func TestRulesDetectViolations(t *testing.T) {
	good := shippedDashboards(t).grafana["trainjob"]
	changes := map[string]func(b *board){
		"template-datasource":            func(b *board) { b.Templating.List[0].Type = "query" },
		"panel-datasource":               func(b *board) { b.Panels[1].Targets[0].Datasource.UID = "prometheus-1" },
		"template-on-time-change-reload": func(b *board) { b.Templating.List[1].Refresh = 1 },
		"template-all":                   func(b *board) { b.Templating.List[2].Multi = true },
		"template-used":                  func(b *board) { b.Templating.List[1].Name = "cluster" },
		"template-prefix":                func(b *board) { b.Templating.List[1].Name = "train" },
		"panel-title-description":        func(b *board) { b.Panels[1].Description = "" },
		"panel-title-unique":             func(b *board) { b.Panels[1].Title = b.Panels[2].Title },
		"panel-units":                    func(b *board) { b.Panels[1].FieldConfig.Defaults.Unit = "furlongs" },
		"panel-no-targets":               func(b *board) { b.Panels[1].Targets = nil },
		"panel-one-number":               func(b *board) { b.Panels[2].Targets = append(b.Panels[2].Targets, b.Panels[2].Targets...) },
		"target-rate-interval":           func(b *board) { b.Panels[1].Targets[0].Expr = "sum(rate(a_total[5m]))" },
		"target-counter-agg":             func(b *board) { b.Panels[1].Targets[0].Expr = "sum(a_total)" },
		"target-own-series":              func(b *board) { b.Panels[1].Targets[0].Expr = "max(trainyard_trainjob_phase)" },
		"uneditable-dashboard":           func(b *board) { b.Editable = true },
		"uid-stable":                     func(b *board) { b.UID = "4711" },
		"tag":                            func(b *board) { b.Tags = nil },
		"links":                          func(b *board) { b.Links[0].IncludeVars = false },
		"no-datasource-uid":              func(b *board) { b.Templating.List[1].Datasource.UID = "prometheus-1" },
		"threshold-legend":               func(b *board) { b.Panels[2].Description = "Red is bad." },
		"legend":                         func(b *board) { b.panel("CPU").Targets[0].LegendFormat = "CPU" },
		"cardinality":                    func(b *board) { b.Panels[1].Targets[0].Expr = "trainyard:pod:info > on () max(up)" },
		"job-named":                      func(b *board) { b.Templating.List[2].Hide = 2 },
		"grid":                           func(b *board) { b.Panels[1].GridPos = b.Panels[2].GridPos },
	}
	excluded := readExclusions(t)
	for rule := range dashboardRules {
		if changes[rule] == nil && len(excluded[rule]) == 0 {
			t.Errorf("no test shows that the rule %s reports a violation", rule)
		}
	}
	for rule, spoil := range changes {
		t.Run(rule, func(t *testing.T) {
			bad := clone(t, good)
			spoil(&bad)
			if before := dashboardRules[rule]("trainjob", good); len(before) > 0 {
				t.Fatalf("the valid dashboard breaks the rule: %v", before)
			}
			if len(dashboardRules[rule]("trainjob", bad)) == 0 {
				t.Error("the rule reports nothing")
			}
		})
	}
}

func (b *board) panel(title string) *boardPanel {
	i := slices.IndexFunc(b.Panels, func(p boardPanel) bool { return p.Title == title })
	return &b.Panels[i]
}

func clone(t *testing.T, b board) (same board) {
	t.Helper()
	text, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	return parse[board](t, string(text))
}
