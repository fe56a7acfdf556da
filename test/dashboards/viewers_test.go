package dashboards

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cuelang.org/go/cue"
	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/test/repo"
)

// unsupportedKinds returns a map for one viewer, such as Perses. The keys are the panel types that the viewer cannot
// show. The value of each key is the reason why the viewer cannot show this type.
func unsupportedKinds(t *testing.T, delivery string) (kinds map[string]string) {
	t.Helper()
	read(t, loadDashboards(t, trainyard.CUE).LookupPath(cue.MakePath(cue.Str("unsupported"), cue.Str(delivery), cue.Str("kinds"))), &kinds)
	return kinds
}

func (b board) panelQueries(skip map[string]string) (all []string) {
	for _, p := range b.Panels {
		if skip[p.Type] != "" || p.Type == "row" {
			continue
		}
		for _, t := range p.Targets {
			all = append(all, p.Title+": "+t.Expr)
		}
	}
	return all
}

// withFixedIntervals returns a changed copy of the dashboard. If a panel has an interval, the interval of the panel
// replaces $__rate_interval in the queries of this panel. The generator makes the same replacement in dashboards for
// the OpenShift console.
func (b board) withFixedIntervals() board {
	b.Panels = slices.Clone(b.Panels)
	for i, p := range b.Panels {
		b.Panels[i].Targets = slices.Clone(p.Targets)
		for j, t := range p.Targets {
			if p.Interval != "" {
				b.Panels[i].Targets[j].Expr = strings.ReplaceAll(t.Expr, "$__rate_interval", p.Interval)
			}
		}
	}
	return b
}

// consoleTypes lists the panel types that the OpenShift console supports.
// Source: openshift/monitoring-plugin, legacy-dashboard.tsx.
var consoleTypes = []string{"gauge", "grafana-piechart-panel", "graph", "singlestat", "table"}

// TestConsoleMatchesGrafana checks that the OpenShift console runs the same queries as Grafana, except for the
// queries of unsupported panels.
func TestConsoleMatchesGrafana(t *testing.T) {
	r, skip := shippedDashboards(t), unsupportedKinds(t, "openshift-console")
	for name, c := range r.openshift {
		var got []string
		for _, row := range c.Rows {
			if !row.ShowTitle || row.Title == "" {
				t.Errorf("%s: a row has no title", name)
			}
			for _, p := range row.Panels {
				checkConsolePanel(t, name, p)
				for _, q := range p.Targets {
					got = append(got, p.Title+": "+q.Expr)
				}
			}
		}
		for _, v := range c.Templating.List {
			if v.Type != "query" || v.Hide != 0 || v.Multi || !labelValues.MatchString(v.variableQuery()) {
				t.Errorf("%s: the console does not support the variable $%s: %+v", name, v.Name, v)
			}
		}
		if diff := cmp.Diff(r.grafana[name].withFixedIntervals().panelQueries(skip), got); diff != "" {
			t.Errorf("%s: -Grafana +console:\n%s", name, diff)
		}
	}
}

// labelValues matches the variable queries that the OpenShift console supports. The OpenShift console requires a
// space after the comma of label_values.
var labelValues = regexp.MustCompile(`^label_values\((.*), (.*)\)$`)

// openBrace matches the beginning of a variable in braces, such as ${namespace}. The OpenShift console does not replace
// these variables.
var openBrace = regexp.MustCompile(`\$\{`)

func checkConsolePanel(t *testing.T, name string, p consolePanel) {
	t.Helper()
	switch {
	case !slices.Contains(consoleTypes, p.Type):
		t.Errorf("%s: %s: the console does not support panels of type %q", name, p.Title, p.Type)
	case p.Span < 1 || p.Span > 12:
		t.Errorf("%s: %s: spans %d of 12 columns", name, p.Title, p.Span)
	case p.Datasource != nil || p.Transformations != nil:
		t.Errorf("%s: %s: has fields that the console does not support", name, p.Title)
	case p.Type == "table" && len(p.Styles) <= len(p.Targets):
		t.Errorf("%s: %s: the table has no label columns", name, p.Title)
	}
	for _, q := range p.Targets {
		if openBrace.MatchString(q.Expr) {
			t.Errorf("%s: %s: %s has a variable in braces", name, p.Title, q.Expr)
		}
	}
}

var persesKinds = []string{"TimeSeriesChart", "StatChart", "GaugeChart", "BarChart", "Table"}

// TestPersesMatchesGrafana checks that Perses runs the same queries as Grafana, except for the queries of unsupported
// panels. The test also checks that the layout of each Perses dashboard contains each panel once, at a valid
// position.
func TestPersesMatchesGrafana(t *testing.T) {
	r, skip := shippedDashboards(t), unsupportedKinds(t, "perses")
	for name, d := range r.perses {
		var got []string
		placed := map[string]bool{}
		for _, layout := range d.Layouts {
			for _, item := range layout.Spec.Items {
				key, _ := strings.CutPrefix(item.Content.Ref, "#/spec/panels/")
				p, found := d.Panels[key]
				if !found || placed[key] || item.X+item.Width > 24 || item.Height < 1 {
					t.Errorf("%s: panel %s is missing or has an invalid position: %+v", name, key, item)
				}
				placed[key] = true
				if !slices.Contains(persesKinds, p.Spec.Plugin.Kind) || p.Spec.Display.Name == "" || p.Spec.Display.Description == "" {
					t.Errorf("%s: %s lacks its kind, title or description", name, key)
				}
				for _, q := range p.Spec.Queries {
					got = append(got, p.Spec.Display.Name+": "+q.Spec.Plugin.Spec.Query)
				}
			}
		}
		if len(placed) != len(d.Panels) {
			t.Errorf("%s: %d of %d panels have a position", name, len(placed), len(d.Panels))
		}
		if diff := cmp.Diff(r.grafana[name].panelQueries(skip), got); diff != "" {
			t.Errorf("%s: -Grafana +Perses:\n%s", name, diff)
		}
	}
}

// TestUnsupportedFeaturesAreDocumented checks that docs/dashboards.md and grafana/dashboards list the same unsupported
// features. An unsupported feature, such as a type of panel, is a feature that a viewer other than Grafana cannot show.
// The lists may contain a type of panel only if the Grafana dashboard "queueing" contains a panel of this type. If this
// dashboard contains no panel of a type, remove the type from both lists.
func TestUnsupportedFeaturesAreDocumented(t *testing.T) {
	var unsupported map[string]struct{ Kinds, Others map[string]string }
	read(t, loadDashboards(t, trainyard.CUE).LookupPath(cue.ParsePath("unsupported")), &unsupported)
	text, err := os.ReadFile(repo.Path(t, "docs", "dashboards.md"))
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	_, table, _ := strings.Cut(string(text), "| delivery | left out | because |")
	table, _, _ = strings.Cut(table, "\n\n")
	for _, line := range tableRow.FindAllString(table, -1) {
		documented[line] = false
	}
	for delivery, features := range unsupported {
		for kind := range features.Kinds {
			if !strings.Contains(string(shippedDashboards(t).texts["queueing"]), `"type": "`+kind+`"`) {
				t.Errorf("%s leaves out panels of type %s, which the dashboard \"queueing\" does not use: remove this type, or add such a panel", delivery, kind)
			}
		}
		maps.Copy(features.Kinds, features.Others)
		for what, why := range features.Kinds {
			line := "| `" + delivery + "` | " + what + " | " + why + " |"
			if _, found := documented[line]; !found {
				t.Errorf("docs/dashboards.md lacks the row %s", line)
			}
			documented[line] = true
		}
	}
	if len(documented) == 0 {
		t.Error("the table in docs/dashboards.md is empty")
	}
	for line, used := range documented {
		if !used {
			t.Errorf("docs/dashboards.md contains the row %s, which is not in grafana/dashboards", line)
		}
	}
}

var tableRow = regexp.MustCompile("(?m)^\\| `[a-z-]+` \\| [a-z ]+ \\| [^|]* \\|$")

// TestDashboardsAreSmall checks that each dashboard fits into a ConfigMap, which holds at most 1 MiB.
func TestDashboardsAreSmall(t *testing.T) {
	for name, text := range shippedDashboards(t).texts {
		if len(text) < 1<<10 || len(text) > 1<<20 {
			t.Errorf("%s has %d bytes, want 1 KiB to 1 MiB", name, len(text))
		}
	}
}
