package prometheus

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/trainyard/trainyard/grafana/panels"
	"github.com/trainyard/trainyard/test/grafanadata"
	"github.com/trainyard/trainyard/test/repo"
)

// expression holds the metrics and grouping labels of a PromQL expression, as printed by the program tools/promql.
type expression struct {
	Metrics map[string][]string
	Groups  []string
	Error   string
}

func read(t *testing.T, expressions map[string]string) map[string]expression {
	t.Helper()
	input, err := json.Marshal(expressions)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(repo.Path(t, ".tools/bin/promql"))
	cmd.Stdin = bytes.NewReader(input)
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("reading expressions: %v: run `make tools`", err)
	}
	var all map[string]expression
	if err := json.Unmarshal(output, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// scrapeLabels lists the labels that Prometheus sets when it scrapes. If a metric already has the label "pod" or
// "namespace", Prometheus can rename this label to "exported_pod" or "exported_namespace".
var scrapeLabels = []string{"job", "instance", "exported_pod", "exported_namespace"}

// emittedLabels returns the labels of each metric and each recording rule that grafana/ declares.
func emittedLabels(o grafanadata.Grafana) map[string][]string {
	all := map[string][]string{}
	add := func(name string, labels []string, histogram bool) {
		all[name] = slices.Concat(labels, scrapeLabels)
		if histogram {
			all[name+"_bucket"], all[name+"_sum"], all[name+"_count"] = append(all[name], "le"), all[name], all[name]
			delete(all, name)
		}
	}
	for _, s := range o.Sources {
		for name, labels := range s.Metrics {
			// grafana/ declares no types for the metrics of other projects' exporters. The test assumes that such a
			// metric is a histogram if its name ends in _seconds.
			add(name, labels, strings.HasSuffix(name, "_seconds"))
		}
	}
	for name, m := range o.Metrics {
		add(name, m.Labels, m.Type == "histogram")
	}
	for name, r := range o.Records {
		all[name] = r.Labels
	}
	return all
}

// replacedLabels lists the labels that expressions create with PromQL functions such as label_replace.
var replacedLabels = []string{"trainjob", "role", "index", "node", "uuid", "model", "slice", "controller", "namespace", "pod", "owner", "of", "xid"}

func TestRulesQueryKnownMetrics(t *testing.T) {
	o := grafana(t)
	expectKnown(t, o, ruleExpressions(o))
}

func expectKnown(t *testing.T, o grafanadata.Grafana, expressions map[string]string) {
	t.Helper()
	series := emittedLabels(o)
	for name, a := range read(t, expressions) {
		if a.Error != "" {
			t.Errorf("%s: %s", name, a.Error)
		}
		groups := slices.Clone(replacedLabels)
		for metric, labels := range a.Metrics {
			groups = append(groups, series[metric]...)
			known, ok := series[metric]
			if !ok {
				t.Errorf("%s queries %s, which no program emits", name, metric)
				continue
			}
			for _, label := range labels {
				if !slices.Contains(known, label) {
					t.Errorf("%s: the matcher of %s uses %s, a label that the metric does not have", name, metric, label)
				}
			}
		}
		for _, label := range a.Groups {
			if !slices.Contains(groups, label) {
				t.Errorf("%s groups or joins by %s, a label that none of its metrics has", name, label)
			}
		}
	}
}

// TestControllerIsOptional checks which rules and panels a cluster without trainyard's controller gets. A rule or panel
// needs the controller if it queries a metric of the controller, or the result of a rule that needs the controller. The
// cluster must get exactly the rules and panels that do not need the controller.
func TestControllerIsOptional(t *testing.T) {
	o := grafana(t)
	alone := ruleExpressions(o.Alone())
	for name, a := range read(t, alone) {
		if needsController(o, a) {
			t.Errorf("%s needs trainyard's controller: set controller: true", name)
		}
	}
	left := ruleExpressions(o) // the expressions of rules that are left out without trainyard's controller
	maps.DeleteFunc(left, func(name, _ string) bool { return alone[name] != "" })
	for name, a := range read(t, left) {
		if !needsController(o, a) {
			t.Errorf("%s is left out without trainyard's controller, but does not need it", name)
		}
	}
	dashboards, err := panels.All()
	if err != nil {
		t.Fatal(err)
	}
	queries := read(t, panelQueries(t))
	for _, d := range dashboards {
		for _, p := range d.Panels {
			for i := range p.Queries {
				if needs := needsController(o, queries[fmt.Sprintf("%s/%s/%d", d.Name, p.Key, i)]); needs != p.Controller {
					t.Errorf("panel %s of dashboard %s: got controller %v, want %v", p.Key, d.Name, p.Controller, needs)
				}
			}
		}
	}
}

func needsController(o grafanadata.Grafana, e expression) bool {
	return slices.ContainsFunc(grafanadata.Sorted(e.Metrics), func(series string) bool {
		for _, suffix := range []string{"", "_bucket", "_sum", "_count"} {
			if o.Metrics[strings.TrimSuffix(series, suffix)].Emits == "controller" {
				return true
			}
		}
		return o.Records[series].Controller
	})
}

// TestUnknownMetricsAreFound checks that TestRulesQueryKnownMetrics would fail for an unknown metric.
func TestUnknownMetricsAreFound(t *testing.T) {
	a := read(t, map[string]string{"rule": `sum by (b) (rate(kube_pod_inof{a="b"}[5m]))`, "text": "sum("})
	if _, found := a["rule"].Metrics["kube_pod_inof"]; !found || a["text"].Error == "" || !slices.Equal(a["rule"].Groups, []string{"b"}) {
		t.Errorf("read %v, want the metric, the label, and an error", a)
	}
	series := emittedLabels(grafana(t))
	for _, unknown := range []string{"kube_pod_inof", "kube_pod_info_bucket", "trainyard_trainjob_duration_seconds"} {
		if _, known := series[unknown]; known {
			t.Errorf("%s is known, but no program emits it", unknown)
		}
	}
	if slices.Contains(series["kube_pod_info"], "le") {
		t.Error("kube_pod_info has buckets")
	}
}

func TestMetricsAreUsed(t *testing.T) {
	o := grafana(t)
	used := map[string]bool{}
	all := panelQueries(t)
	maps.Copy(all, ruleExpressions(o))
	for _, a := range read(t, all) {
		for metric := range a.Metrics {
			used[metric] = true
		}
	}
	declared := grafanadata.Sorted(o.Metrics)
	for _, s := range o.Sources {
		declared = append(declared, grafanadata.Sorted(s.Metrics)...)
	}
	for _, name := range declared {
		if !used[name] && !used[name+"_bucket"] && !used[name+"_count"] {
			t.Errorf("no rule or panel queries %s", name)
		}
	}
}

// TestRulesAreInOrder: if rule A queries the series of rule B, B must come before A. Otherwise A would read the
// values of the previous evaluation.
func TestRulesAreInOrder(t *testing.T) {
	o := grafana(t)
	var order []string           // names of all alerts
	position := map[string]int{} // index of each recording rule's group, by the name of the rule
	for i, g := range o.Groups {
		for _, rule := range g.Rules {
			if name, is := rule["alert"].(string); is {
				order = append(order, name)
			} else if name, is := rule["record"].(string); is {
				position[name] = i
			}
		}
	}
	for name, r := range o.Records {
		for other, before := range o.Records {
			if strings.Contains(r.Expr, other) && (position[other] > position[name] || r.Stage <= before.Stage) {
				t.Errorf("%s in stage %d of group %s queries %s in stage %d of group %s, want an earlier stage, in the same group or in an earlier group", name, r.Stage, r.Group, other, before.Stage, before.Group)
			}
		}
	}
	for name, a := range o.Alerts {
		if !slices.Contains(order, name) {
			t.Errorf("the groups lack %s", name)
		}
		for _, other := range a.InhibitedBy {
			if inhibiting, known := o.Alerts[other]; !known || inhibiting.Group != a.Group {
				t.Errorf("%s is inhibited by %s, which is not an alert of the same group", name, other)
			}
			if slices.Index(order, other) > slices.Index(order, name) {
				t.Errorf("%s is inhibited by %s, which is evaluated later: list the inhibiting alert first", name, other)
			}
		}
	}
}

// TestSeriesAreBounded checks that the number of series stays within the usual limits of a Prometheus scrape target.
func TestSeriesAreBounded(t *testing.T) {
	o := grafana(t)
	total := 0
	for name, m := range o.Metrics {
		for _, label := range m.Labels {
			if _, known := o.Labels[label]; !known {
				t.Errorf("%s has the undeclared label %s", name, label)
			}
		}
		if m.MaxSeries > 40000 {
			t.Errorf("%s can have %d series, want at most 40000", name, m.MaxSeries)
		}
		if m.Emits == "controller" {
			total += m.MaxSeries
		}
		if m.Type == "histogram" && slices.Contains(m.Labels, "trainjob") {
			t.Errorf("%s is a histogram with the label trainjob, which has too many series", name)
		}
	}
	if total > 200000 {
		t.Errorf("the controller can have %d series, want at most 200000", total)
	}
}
