package docs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/trainyard/trainyard/test/grafanadata"
)

const inventory = "docs/metrics.md"

// TestInventoryIsTrue checks that docs/metrics.md equals the page generated from grafana/. With TRAINYARD_UPDATE=1,
// the test writes docs/metrics.md.
func TestInventoryIsTrue(t *testing.T) {
	g, err := grafanadata.Read("runbooks")
	if err != nil {
		t.Fatal(err)
	}
	expectPage(t, inventory, "grafana/", inventoryPage(g))
}

func inventoryPage(g grafanadata.Grafana) string {
	var b strings.Builder
	b.WriteString("# Metrics, rules and alerts\n\nThis page lists all alerts, recording rules and metrics; [monitoring](monitoring.md) describes how to use them. `make update` generates this page from `grafana/`. Alerts and rules that need trainyard's controller are generated only if the document sets `controller.enabled`.\n\n## Alerts\n\n")
	row := func(cells ...string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	row("alert", "severity", "after", "meaning", "inhibited by", "needs the controller")
	row("---", "---", "---", "---", "---", "---")
	for _, name := range grafanadata.Sorted(g.Alerts) {
		a := g.Alerts[name]
		row(fmt.Sprintf("[%s](runbooks/%s.md)", name, name), a.Severity, a.For, escapeCell(a.Summary), strings.Join(a.InhibitedBy, ", "), yesCell(a.Controller))
	}
	b.WriteString("\n## Recording rules\n\n")
	row("rule", "group", "labels", "unit", "meaning", "needs the controller")
	row("---", "---", "---", "---", "---", "---")
	for _, name := range grafanadata.Sorted(g.Records) {
		r := g.Records[name]
		row("`"+name+"`", strings.TrimPrefix(r.Group, "trainyard."), strings.Join(r.Labels, ", "), r.Unit, escapeCell(r.Description), yesCell(r.Controller))
	}
	b.WriteString("\n## Metrics of trainyard\n\nThe table includes metrics that training programs can emit, because recording rules query them.\n\n")
	row("metric", "type", "labels", "maximum number of series", "meaning")
	row("---", "---", "---", "---", "---")
	for _, name := range grafanadata.Sorted(g.Metrics) {
		m := g.Metrics[name]
		row("`"+name+"`", m.Type, strings.Join(m.Labels, ", "), fmt.Sprint(m.MaxSeries), escapeCell(m.Help))
	}
	b.WriteString("\n| label | values | meaning |\n|---|---|---|\n")
	for _, name := range grafanadata.Sorted(g.Labels) {
		l := g.Labels[name]
		row("`"+name+"`", strings.Join(l.Values, ", "), escapeCell(l.Description))
	}
	b.WriteString("\n## Metrics of other programs\n\n")
	for _, name := range grafanadata.Sorted(g.Sources) {
		s := g.Sources[name]
		fmt.Fprintf(&b, "**%s**, version %s or later, reports %s.", name, s.Since, s.Description)
		if s.Requires != "" {
			fmt.Fprintf(&b, " Rules and panels can use the following metrics only with %s.", escapeCell(s.Requires))
		}
		fmt.Fprintf(&b, " Metrics: `%s`\n\n", strings.Join(grafanadata.Sorted(s.Metrics), "`, `"))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func yesCell(holds bool) string {
	if holds {
		return "yes"
	}
	return ""
}
