package prometheus

import (
	"bytes"
	"encoding/json"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/trainyard/trainyard/test/observed"
	"github.com/trainyard/trainyard/test/repo"
)

// asked is what an expression asks for, as tools/promql says.
type asked struct {
	Metrics map[string][]string
	Groups  []string
	Error   string
}

// read has Prometheus' own parser read expressions.
func read(t *testing.T, expressions map[string]string) map[string]asked {
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
	var all map[string]asked
	if err := json.Unmarshal(output, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// fetched are the labels that Prometheus gives to what it fetches, or renames.
var fetched = []string{"job", "instance", "exported_pod", "exported_namespace"}

// emitted are the labels of every series that somebody emits, by the series' name.
func emitted(o observed.Grafana) map[string][]string {
	all := map[string][]string{}
	add := func(name string, labels []string, histogram bool) {
		all[name] = slices.Concat(labels, fetched)
		if histogram {
			all[name+"_bucket"], all[name+"_sum"], all[name+"_count"] = append(all[name], "le"), all[name], all[name]
			delete(all, name)
		}
	}
	for _, s := range o.Sources {
		for name, labels := range s.Metrics {
			// Those of others that are histograms measure seconds, and no gauge of theirs that is asked for does.
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

// made are labels that expressions make with label_replace.
var made = []string{"trainjob", "role", "index", "node", "uuid", "model", "slice", "controller", "namespace", "pod"}

// TestRulesAskForWhatIsEmitted: every metric of every rule is in grafana/ as one of ours, of a source, or of
// a rule; and so is every label that it is asked for by.
func TestRulesAskForWhatIsEmitted(t *testing.T) {
	o := grafana(t)
	expectEmitted(t, o, expressions(o))
}

// expectEmitted: expressions ask for nothing that nobody emits.
func expectEmitted(t *testing.T, o observed.Grafana, expressions map[string]string) {
	t.Helper()
	series := emitted(o)
	for name, a := range read(t, expressions) {
		if a.Error != "" {
			t.Errorf("%s: %s", name, a.Error)
		}
		groups := slices.Clone(made)
		for metric, labels := range a.Metrics {
			groups = append(groups, series[metric]...)
			known, ok := series[metric]
			if !ok {
				t.Errorf("%s asks for %s, which nobody emits", name, metric)
				continue
			}
			for _, label := range labels {
				if !slices.Contains(known, label) {
					t.Errorf("%s asks for %s by %s, which it does not have", name, metric, label)
				}
			}
		}
		for _, label := range a.Groups {
			if !slices.Contains(groups, label) {
				t.Errorf("%s groups or joins by %s, which nothing that it asks for has", name, label)
			}
		}
	}
}

// TestUnknownMetricsAreFound: the test above can fail.
func TestUnknownMetricsAreFound(t *testing.T) {
	a := read(t, map[string]string{"rule": `sum by (b) (rate(kube_pod_inof{a="b"}[5m]))`, "text": "sum("})
	if _, found := a["rule"].Metrics["kube_pod_inof"]; !found || a["text"].Error == "" || !slices.Equal(a["rule"].Groups, []string{"b"}) {
		t.Errorf("read %v, want the metric, the label, and an error", a)
	}
	series := emitted(grafana(t))
	for _, unknown := range []string{"kube_pod_inof", "kube_pod_info_bucket", "trainyard_trainjob_duration_seconds"} {
		if _, known := series[unknown]; known {
			t.Errorf("%s is emitted, which there is not", unknown)
		}
	}
	if slices.Contains(series["kube_pod_info"], "le") {
		t.Error("kube_pod_info has buckets")
	}
}

// TestWhatIsEmittedIsAskedFor: grafana/ names no metric for which there is neither rule nor panel.
func TestWhatIsEmittedIsAskedFor(t *testing.T) {
	o := grafana(t)
	asked := map[string]bool{}
	all := questions(t)
	maps.Copy(all, expressions(o))
	for _, a := range read(t, all) {
		for metric := range a.Metrics {
			asked[metric] = true
		}
	}
	named := observed.Sorted(o.Metrics)
	for _, s := range o.Sources {
		named = append(named, observed.Sorted(s.Metrics)...)
	}
	for _, name := range named {
		if !asked[name] && !asked[name+"_bucket"] {
			t.Errorf("nobody asks for %s", name)
		}
	}
}

// TestRulesAreInOrder: Prometheus computes a group's rules one after the other, so that one which asks for another
// has to come later, or it sees what was so a minute ago.
func TestRulesAreInOrder(t *testing.T) {
	o := grafana(t)
	for name, r := range o.Records {
		for other, before := range o.Records {
			if strings.Contains(r.Expr, other) && (r.Group != before.Group || r.Stage <= before.Stage) {
				t.Errorf("%s, stage %d of %s, asks for %s, stage %d of %s", name, r.Stage, r.Group, other, before.Stage, before.Group)
			}
		}
	}
	var order []string
	for _, rule := range o.Groups[len(o.Groups)-1].Rules {
		name, _ := rule["alert"].(string)
		order = append(order, name)
	}
	for name, a := range o.Alerts {
		if !slices.Contains(order, name) {
			t.Errorf("%s is not among the alerts that Prometheus gets", name)
		}
		for _, other := range a.Explained {
			if _, known := o.Alerts[other]; !known {
				t.Errorf("%s is explained by %s, which is no alert", name, other)
			}
			if slices.Index(order, other) > slices.Index(order, name) {
				t.Errorf("%s is explained by %s, which is computed after it", name, other)
			}
		}
	}
}

// TestSeriesAreBounded: what we emit stays within what a Prometheus takes from one program.
func TestSeriesAreBounded(t *testing.T) {
	o := grafana(t)
	total := 0
	for name, m := range o.Metrics {
		for _, label := range m.Labels {
			if _, known := o.Labels[label]; !known {
				t.Errorf("%s has label %s, of which labels says nothing", name, label)
			}
		}
		if m.Most > 40000 {
			t.Errorf("%s may have %d series", name, m.Most)
		}
		if m.Emits == "controller" {
			total += m.Most
		}
		if m.Type == "histogram" && slices.Contains(m.Labels, "trainjob") {
			t.Errorf("%s has a histogram for each TrainJob", name)
		}
	}
	if total > 200000 {
		t.Errorf("the controller may have %d series", total)
	}
}
