package docs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/trainyard/trainyard/test/observed"
)

const inventory = "docs/metrics.md"

// TestInventoryIsTrue: the page is what grafana/ says. TRAINYARD_UPDATE=1 writes it.
func TestInventoryIsTrue(t *testing.T) {
	g, err := observed.Read("runbooks")
	if err != nil {
		t.Fatal(err)
	}
	expectPage(t, inventory, "grafana/", inventoryPage(g))
}

func inventoryPage(g observed.Grafana) string {
	var b strings.Builder
	b.WriteString("# Metrics, rules and alerts\n\nThis page is written from `grafana/` by `make update`. How to make use of it is said in [monitoring](monitoring.md).\n\n## Alerts\n\n")
	row := func(cells ...string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	row("alert", "severity", "after", "what is the matter", "silent where it is explained by")
	row("---", "---", "---", "---", "---")
	for _, name := range observed.Sorted(g.Alerts) {
		a := g.Alerts[name]
		row(fmt.Sprintf("[%s](runbooks/%s.md)", name, name), a.Severity, a.For, cell(a.Summary), strings.Join(a.Explained, ", "))
	}
	b.WriteString("\n## What Prometheus computes\n\n")
	row("rule", "labels", "unit", "what it says")
	row("---", "---", "---", "---")
	for _, name := range observed.Sorted(g.Records) {
		r := g.Records[name]
		row("`"+name+"`", strings.Join(r.Labels, ", "), r.Unit, cell(r.Says))
	}
	b.WriteString("\n## Metrics of trainyard\n\nThose of training programs are declared here so that rules can ask for them; programs emit them if they like.\n\n")
	row("metric", "type", "labels", "series at most", "what it says")
	row("---", "---", "---", "---", "---")
	for _, name := range observed.Sorted(g.Metrics) {
		m := g.Metrics[name]
		row("`"+name+"`", m.Type, strings.Join(m.Labels, ", "), fmt.Sprint(m.Most), cell(m.Help))
	}
	b.WriteString("\n| label | values | what it says |\n|---|---|---|\n")
	for _, name := range observed.Sorted(g.Labels) {
		l := g.Labels[name]
		row("`"+name+"`", strings.Join(l.Values, ", "), cell(l.Says))
	}
	b.WriteString("\n## Metrics of others\n\n")
	for _, name := range observed.Sorted(g.Sources) {
		s := g.Sources[name]
		fmt.Fprintf(&b, "**%s**, from version %s on: %s.", name, s.Since, s.Says)
		if s.Needs != "" {
			fmt.Fprintf(&b, " Needs %s.", cell(s.Needs))
		}
		fmt.Fprintf(&b, " `%s`\n\n", strings.Join(observed.Sorted(s.Metrics), "`, `"))
	}
	return strings.TrimSuffix(b.String(), "\n")
}
