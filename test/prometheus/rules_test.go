package prometheus

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/trainyard/trainyard/test/observed"
)

// TestRulesAreSound: Prometheus takes the rules, and its own lint has nothing against them.
func TestRulesAreSound(t *testing.T) {
	out, err := promtool(t, "check", "rules", "--lint=all", "--lint-fatal", ruleFile(t, grafana(t)))
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestAlertsFireAndCease: every alert fires for its case, says what it should, and ends; it does not fire
// for the nearest case below, nor where another alert explains it.
func TestAlertsFireAndCease(t *testing.T) {
	o := grafana(t)
	files := cases{Grafana: o, folder: t.TempDir()}
	for _, name := range observed.Sorted(o.Alerts) {
		a := o.Alerts[name]
		fires := a.Tests.Fires
		labels := map[string]string{"severity": a.Severity}
		for key, value := range fires.Labels {
			labels[key] = value
		}
		firing := map[string]any{"exp_labels": labels, "exp_annotations": map[string]string{
			"summary": a.Summary, "description": fires.Says, "runbook_url": runbooks + "/" + name + ".md",
		}}
		files.alert(t, name, "fires", fires.Series, expected{fires.At, []any{firing}}, expected{fires.Over, nil})
		files.alert(t, name, "below", a.Tests.Below.Series, expected{a.Tests.Below.At, nil})
		if diff := cmp.Diff(slices.Sorted(slices.Values(a.Explained)), observed.Sorted(a.Tests.Explained), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: want a case for each alert that explains it: -explained +tests:\n%s", name, diff)
		}
		for _, other := range observed.Sorted(a.Tests.Explained) {
			files.explained(t, name, a, other)
		}
		if len(a.Explained) > 0 {
			files.pending(t, name, a)
		}
	}
	files.run(t)
}

// TestRecordsMakeWhatTheyPromise: every rule that has cases makes of their series what they say.
func TestRecordsMakeWhatTheyPromise(t *testing.T) {
	o := grafana(t)
	files := cases{Grafana: o, folder: t.TempDir()}
	for _, name := range observed.Sorted(o.Records) {
		for _, sentence := range observed.Sorted(o.Records[name].Tests) {
			tc := o.Records[name].Tests[sentence]
			var samples []any
			for labels, value := range tc.Want {
				samples = append(samples, map[string]any{"labels": name + "{" + labels + "}", "value": value})
			}
			files.write(t, name, sentence, tc.Series, map[string]any{
				"promql_expr_test": []any{map[string]any{"expr": name, "eval_time": tc.At, "exp_samples": samples}},
			})
		}
	}
	files.run(t)
}

// runbooks is where pages about alerts are, in tests.
const runbooks = "https://runbooks.example"

func grafana(t *testing.T) observed.Grafana {
	t.Helper()
	g, err := observed.Read(runbooks)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// promtool runs it, and returns what it prints.
func promtool(t *testing.T, arguments ...string) (string, error) {
	t.Helper()
	out, err := exec.Command("promtool", arguments...).CombinedOutput()
	if failed := (*exec.ExitError)(nil); err != nil && !errors.As(err, &failed) {
		t.Fatalf("%v: run `make packages`", err)
	}
	return string(out), err
}

// ruleFile writes rules as Prometheus reads them: all, or those that some of them need.
func ruleFile(t *testing.T, o observed.Grafana, names ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "rules.json")
	writeJSON(t, file, map[string]any{"groups": groupsOf(o, names)})
	return file
}

// groups are the rules of some names, and those that they ask for: to compute all at each minute of each case
// would take most of the time.
func groupsOf(o observed.Grafana, names []string) []observed.Group {
	all, needed := expressions(o), map[string]bool{}
	var need func(name string)
	need = func(name string) {
		if needed[name] {
			return
		}
		needed[name] = true
		for other := range all {
			if strings.Contains(all[name], other) {
				need(other)
			}
		}
	}
	for _, name := range names {
		need(name)
	}
	var groups []observed.Group
	for _, g := range o.Groups {
		g.Rules = slices.DeleteFunc(slices.Clone(g.Rules), func(rule map[string]any) bool {
			name, _ := rule["record"].(string)
			if name == "" {
				name, _ = rule["alert"].(string)
			}
			return len(names) > 0 && !needed[name]
		})
		if len(g.Rules) > 0 {
			groups = append(groups, g)
		}
	}
	return groups
}

// expressions are those of all rules, by name.
func expressions(o observed.Grafana) map[string]string {
	all := map[string]string{}
	for name, r := range o.Records {
		all[name] = r.Expr
	}
	for name, a := range o.Alerts {
		all[name] = a.Expr
	}
	return all
}

// writeJSON writes a file that promtool reads as YAML.
func writeJSON(t *testing.T, file string, content any) {
	t.Helper()
	text, err := json.MarshalIndent(content, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// cases are files for promtool, each with a case.
type cases struct {
	observed.Grafana
	folder string
	files  []string
}

// expected are the alerts at a time.
type expected struct {
	at     string
	alerts []any
}

func (c *cases) alert(t *testing.T, name, what string, series map[string]string, then ...expected) {
	t.Helper()
	var looks []any
	for _, e := range then {
		looks = append(looks, map[string]any{"eval_time": e.at, "alertname": name, "exp_alerts": e.alerts})
	}
	c.write(t, name, what, series, map[string]any{"alert_rule_test": looks})
}

// explained is a case that the alert would fire for, if one of the others did not; the rest are silent.
func (c *cases) explained(t *testing.T, name string, a observed.Alert, other string) {
	t.Helper()
	e := a.Tests.Explained[other]
	rest := fmt.Sprintf(`count(ALERTS{alertname=~%q, alertname!=%q})`, strings.Join(a.Explained, "|"), other)
	c.write(t, name, "explained by "+other, e.Series, map[string]any{
		"alert_rule_test":  []any{map[string]any{"eval_time": e.At, "alertname": name}},
		"promql_expr_test": []any{is(e.At, "count("+a.Finds+") > bool 0", 1), is(e.At, rest+" or vector(0)", 0)},
	})
}

// pending is a case in which the alert fires although one of the others is about to.
func (c *cases) pending(t *testing.T, name string, a observed.Alert) {
	t.Helper()
	e := a.Tests.Pending
	about := fmt.Sprintf(`count(ALERTS{alertname=~%q, alertstate="pending"}) > bool 0`, strings.Join(a.Explained, "|"))
	fires := fmt.Sprintf(`count(ALERTS{alertname=%q, alertstate="firing"}) > bool 0`, name)
	c.write(t, name, "pending", e.Series, map[string]any{"promql_expr_test": []any{is(e.At, about, 1), is(e.At, fires, 1)}})
}

// is expects a number without labels at a time.
func is(at, expression string, want float64) any {
	return map[string]any{"expr": expression, "eval_time": at, "exp_samples": []any{map[string]any{"labels": "{}", "value": want}}}
}

func (c *cases) write(t *testing.T, name, what string, series map[string]string, test map[string]any) {
	t.Helper()
	var input []any
	for _, key := range observed.Sorted(series) {
		input = append(input, map[string]any{"series": key, "values": series[key]})
	}
	test["interval"], test["input_series"] = "1m", input
	file := filepath.Join(c.folder, strings.Map(func(r rune) rune {
		if strings.ContainsRune(" :,/", r) {
			return '-'
		}
		return r
	}, name+" "+what)+".json")
	rules := ruleFile(t, c.Grafana, name)
	var order []string // another each time, if nothing is said
	for _, g := range groupsOf(c.Grafana, []string{name}) {
		order = append(order, g.Name)
	}
	writeJSON(t, file, map[string]any{"rule_files": []string{rules}, "evaluation_interval": "1m", "group_eval_order": order, "tests": []any{test}})
	c.files = append(c.files, file)
}

// run has promtool try all cases.
func (c *cases) run(t *testing.T) {
	t.Helper()
	if len(c.files) == 0 {
		t.Fatal("there are no cases")
	}
	out, err := promtool(t, append([]string{"test", "rules"}, c.files...)...)
	if err != nil {
		t.Errorf("%v\n%s", err, strings.ReplaceAll(out, c.folder, ""))
	}
}
