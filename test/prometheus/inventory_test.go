package prometheus

import (
	"bytes"
	"encoding/json"
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

// emitted are the labels of every series that somebody emits, by the series' name.
func emitted(o observed.Grafana) map[string][]string {
	all := map[string][]string{}
	for _, s := range o.Sources {
		for name, labels := range s.Metrics {
			for _, suffix := range []string{"", "_bucket", "_sum", "_count"} {
				all[name+suffix] = append(slices.Clone(labels), "le", "exported_pod", "exported_namespace")
			}
		}
	}
	for name, m := range o.Metrics {
		suffixes := []string{""}
		if m.Type == "histogram" {
			suffixes = []string{"_bucket", "_sum", "_count"}
		}
		for _, suffix := range suffixes {
			all[name+suffix] = append(slices.Clone(m.Labels), "le", "exported_pod", "exported_namespace")
		}
	}
	for name, r := range o.Records {
		all[name] = r.Labels
	}
	return all
}

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
		for metric, labels := range a.Metrics {
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
	}
}

// TestUnknownMetricsAreFound: the test above can fail.
func TestUnknownMetricsAreFound(t *testing.T) {
	a := read(t, map[string]string{"rule": `sum by (b) (rate(kube_pod_inof{a="b"}[5m]))`, "text": "sum("})
	if _, found := a["rule"].Metrics["kube_pod_inof"]; !found || a["text"].Error == "" {
		t.Errorf("read %v, want the metric, and an error", a)
	}
	if _, known := emitted(grafana(t))["kube_pod_inof"]; known {
		t.Error("a metric is emitted that there is not")
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
	for name, a := range o.Alerts {
		for _, other := range a.Explained {
			if _, known := o.Alerts[other]; !known {
				t.Errorf("%s is explained by %s, which is no alert", name, other)
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
