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

	"github.com/trainyard/trainyard/test/grafanadata"
)

func TestRulesAreValid(t *testing.T) {
	for name, o := range ruleVariants(t) {
		if out, err := runPromtool(t, "check", "rules", "--lint=all", "--lint-fatal", ruleFile(t, o)); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

func ruleVariants(t *testing.T) map[string]grafanadata.Grafana {
	t.Helper()
	all := grafana(t)
	return map[string]grafanadata.Grafana{"with trainyard's controller": all, "without trainyard's controller": all.Alone()}
}

// TestAlertsFireAndResolve: every alert must fire with the expected description, and must be resolved later. An alert
// must not fire while the values are just below its threshold, or while another alert inhibits it.
func TestAlertsFireAndResolve(t *testing.T) {
	for name, o := range ruleVariants(t) {
		t.Run(name, func(t *testing.T) { expectAlerts(t, o) })
	}
}

func expectAlerts(t *testing.T, o grafanadata.Grafana) {
	t.Helper()
	files := caseFiles{Grafana: o, folder: t.TempDir()}
	for _, name := range grafanadata.Sorted(o.Alerts) {
		a := o.Alerts[name]
		fires := a.Tests.Fires
		labels := map[string]string{"severity": a.Severity}
		for key, value := range fires.Labels {
			labels[key] = value
		}
		firing := map[string]any{"exp_labels": labels, "exp_annotations": map[string]string{
			"summary": a.Summary, "description": fires.Description, "runbook_url": runbookBase + "/" + name + ".md",
		}}
		files.alert(t, name, "fires", fires.Series, expectedAlerts{fires.At, []any{firing}}, expectedAlerts{fires.ResolvedAt, nil})
		files.addNever(t, name, "below", a.Tests.Below)
		for _, sentence := range grafanadata.Sorted(a.Tests.Quiet) {
			files.addNever(t, name, sentence, a.Tests.Quiet[sentence])
		}
		for _, sentence := range grafanadata.Sorted(a.Tests.Also) {
			e := a.Tests.Also[sentence]
			files.write(t, name, sentence, e.Series, map[string]any{"promql_expr_test": []any{hasValue(e.At, "count("+firingNow(name)+") > bool 0", 1)}})
		}
		files.addInhibitions(t, name, a)
	}
	files.run(t)
}

func (c *caseFiles) addInhibitions(t *testing.T, name string, a grafanadata.Alert) {
	t.Helper()
	if diff := cmp.Diff(slices.Sorted(slices.Values(a.InhibitedBy)), grafanadata.Sorted(a.Tests.Inhibited), cmpopts.EquateEmpty()); diff != "" && c.Controller {
		t.Errorf("%s: want a test case for each inhibiting alert: -inhibitedBy +tests:\n%s", name, diff)
	}
	for _, other := range a.InhibitedBy {
		c.addInhibited(t, name, a, other)
	}
	if len(a.InhibitedBy) > 0 {
		c.addPending(t, name, a)
	}
}

func TestRecords(t *testing.T) {
	for name, o := range ruleVariants(t) {
		t.Run(name, func(t *testing.T) { expectRecords(t, o) })
	}
}

func expectRecords(t *testing.T, o grafanadata.Grafana) {
	t.Helper()
	files := caseFiles{Grafana: o, folder: t.TempDir()}
	values := readValues(t)
	for _, name := range grafanadata.Sorted(o.Records) {
		for _, tests := range []map[string]grafanadata.Sample{o.Records[name].Tests, values[name].Tests} {
			for _, sentence := range grafanadata.Sorted(tests) {
				files.addRecord(t, name, sentence, tests[sentence])
			}
		}
	}
	files.run(t)
}

func (c *caseFiles) addRecord(t *testing.T, name, sentence string, tc grafanadata.Sample) {
	t.Helper()
	var samples []any
	for labels, value := range tc.Want {
		samples = append(samples, map[string]any{"labels": name + "{" + labels + "}", "value": value})
	}
	c.write(t, name, sentence, tc.Series, map[string]any{
		"promql_expr_test": []any{map[string]any{"expr": name, "eval_time": tc.At, "exp_samples": samples}},
	})
}

const runbookBase = "https://runbooks.example"

func grafana(t *testing.T) grafanadata.Grafana {
	t.Helper()
	g, err := grafanadata.Read(runbookBase)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func runPromtool(t *testing.T, arguments ...string) (string, error) {
	t.Helper()
	out, err := exec.Command("promtool", arguments...).CombinedOutput()
	if failed := (*exec.ExitError)(nil); err != nil && !errors.As(err, &failed) {
		t.Fatalf("%v: run `make packages`", err)
	}
	return string(out), err
}

// ruleFile writes a rule file and returns its path. The file contains all rules if no names are given. Otherwise, it
// contains only the named rules and the rules that the named rules need.
func ruleFile(t *testing.T, o grafanadata.Grafana, names ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "rules.json")
	writeJSON(t, file, map[string]any{"groups": selectGroups(o, names)})
	return file
}

// selectGroups returns only the rules that a test case needs, because a test case with all rules takes much longer. The
// argument "names" lists rules that the test case needs. If a needed rule queries the series of a second rule, the test
// case also needs the second rule. If the argument "names" is empty, selectGroups returns all rules.
func selectGroups(o grafanadata.Grafana, names []string) []grafanadata.Group {
	all, needed := ruleExpressions(o), map[string]bool{}
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
	var groups []grafanadata.Group
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

func ruleExpressions(o grafanadata.Grafana) map[string]string {
	all := map[string]string{}
	for name, r := range o.Records {
		all[name] = r.Expr
	}
	for name, a := range o.Alerts {
		all[name] = a.Expr
	}
	return all
}

// writeJSON writes JSON, which promtool can read, because JSON is valid YAML.
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

// caseFiles collects promtool test files, each with one test case.
type caseFiles struct {
	grafanadata.Grafana
	folder string
	files  []string
}

type expectedAlerts struct {
	at     string
	alerts []any
}

func (c *caseFiles) alert(t *testing.T, name, what string, series map[string]string, checks ...expectedAlerts) {
	t.Helper()
	var tests []any
	for _, e := range checks {
		tests = append(tests, map[string]any{"eval_time": e.at, "alertname": name, "exp_alerts": e.alerts})
	}
	c.write(t, name, what, series, map[string]any{"alert_rule_test": tests})
}

func firingNow(name string) string {
	return fmt.Sprintf(`ALERTS{alertname=%q, alertstate="firing"}`, name)
}

// addNever adds a test case in which an alert must not fire at any time from the start to the time
// e.At.
func (c *caseFiles) addNever(t *testing.T, name, what string, e grafanadata.Case) {
	t.Helper()
	c.write(t, name, what, e.Series, map[string]any{
		"promql_expr_test": []any{hasValue(e.At, "count(count_over_time("+firingNow(name)+"["+e.At+"])) or vector(0)", 0)},
	})
}

// addInhibited adds a test case in which one alert inhibits another alert. The argument "name" is the name of the
// inhibited alert, and "other" is the name of the inhibiting alert. The condition of the inhibited alert must hold, but
// the alert must not fire. All other alerts in a.InhibitedBy must be inactive, so that only "other" can inhibit the
// alert.
func (c *caseFiles) addInhibited(t *testing.T, name string, a grafanadata.Alert, other string) {
	t.Helper()
	e := a.Tests.Inhibited[other]
	rest := fmt.Sprintf(`count(ALERTS{alertname=~%q, alertname!=%q})`, strings.Join(a.InhibitedBy, "|"), other)
	c.write(t, name, "inhibited by "+other, e.Series, map[string]any{
		"alert_rule_test":  []any{map[string]any{"eval_time": e.At, "alertname": name}},
		"promql_expr_test": []any{hasValue(e.At, "count("+a.Condition+") > bool 0", 1), hasValue(e.At, rest+" or vector(0)", 0)},
	})
}

// addPending adds a test case for one alert: the argument "a" is the alert, and "name" is its name. In the test case,
// at least one alert in the list a.InhibitedBy is pending. A pending alert does not inhibit other alerts, so the alert
// "a" must fire.
func (c *caseFiles) addPending(t *testing.T, name string, a grafanadata.Alert) {
	t.Helper()
	e := a.Tests.Pending
	isPending := fmt.Sprintf(`count(ALERTS{alertname=~%q, alertstate="pending"}) > bool 0`, strings.Join(a.InhibitedBy, "|"))
	fires := "count(" + firingNow(name) + ") > bool 0"
	c.write(t, name, "pending", e.Series, map[string]any{"promql_expr_test": []any{hasValue(e.At, isPending, 1), hasValue(e.At, fires, 1)}})
}

// hasValue returns a promtool check that an expression has exactly one sample at the given time. The sample must have
// no labels, and its value must equal the argument "want".
func hasValue(at, expression string, want float64) any {
	return map[string]any{"expr": expression, "eval_time": at, "exp_samples": []any{map[string]any{"labels": "{}", "value": want}}}
}

// write writes a promtool test file with one test case. If the rules are for clusters without trainyard's controller,
// this function skips test cases with series of the controller.
func (c *caseFiles) write(t *testing.T, name, what string, series map[string]string, test map[string]any) {
	t.Helper()
	if !c.Controller && slices.ContainsFunc(grafanadata.Sorted(series), func(s string) bool { return strings.HasPrefix(s, "trainyard_") }) {
		return
	}
	var input []any
	for _, key := range grafanadata.Sorted(series) {
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
	var order []string // without group_eval_order, promtool chooses a random order
	for _, g := range selectGroups(c.Grafana, []string{name}) {
		order = append(order, g.Name)
	}
	writeJSON(t, file, map[string]any{"rule_files": []string{rules}, "evaluation_interval": "1m", "group_eval_order": order, "tests": []any{test}})
	c.files = append(c.files, file)
}

func (c *caseFiles) run(t *testing.T) {
	t.Helper()
	if len(c.files) == 0 {
		t.Fatal("no test cases")
	}
	out, err := runPromtool(t, append([]string{"test", "rules"}, c.files...)...)
	if err != nil {
		t.Errorf("%v\n%s", err, strings.ReplaceAll(out, c.folder, ""))
	}
}
