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

// left reads what a delivery leaves out.
func left(t *testing.T, delivery string) (kinds map[string]string) {
	t.Helper()
	read(t, dashboardsOf(t, trainyard.CUE).LookupPath(cue.MakePath(cue.Str("without"), cue.Str(delivery), cue.Str("kinds"))), &kinds)
	return kinds
}

// asked are the panels of a dashboard and what they ask, in order, without those of some kinds.
func (b board) asked(without map[string]string) (all []string) {
	for _, p := range b.Panels {
		if without[p.Type] != "" || p.Type == "row" {
			continue
		}
		for _, t := range p.Targets {
			all = append(all, p.Title+": "+t.Expr)
		}
	}
	return all
}

// fixed is the dashboard for one who takes intervals of its own: panels that have a least one ask for that.
func (b board) fixed() board {
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

// consoleTypes are all that the console of OpenShift draws.
// Source: openshift/monitoring-plugin, legacy-dashboard.tsx.
var consoleTypes = []string{"gauge", "grafana-piechart-panel", "graph", "singlestat", "table"}

// TestTheConsoleShowsTheSame: but for what is left out with a reason, the console of OpenShift asks what Grafana asks.
func TestTheConsoleShowsTheSame(t *testing.T) {
	r, without := ours(t), left(t, "openshift-console")
	for name, c := range r.openshift {
		var asked []string
		for _, row := range c.Rows {
			if !row.ShowTitle || row.Title == "" {
				t.Errorf("%s: a row has no title", name)
			}
			for _, p := range row.Panels {
				checkConsolePanel(t, name, p)
				for _, q := range p.Targets {
					asked = append(asked, p.Title+": "+q.Expr)
				}
			}
		}
		for _, v := range c.Templating.List {
			if v.Type != "query" || v.Hide != 0 || v.Multi || !labelValues.MatchString(v.asks()) {
				t.Errorf("%s: $%s is not one that the console can ask for: %+v", name, v.Name, v)
			}
		}
		if diff := cmp.Diff(r.grafana[name].fixed().asked(without), asked); diff != "" {
			t.Errorf("%s: -Grafana +console:\n%s", name, diff)
		}
	}
}

// labelValues is what the console rewrites, blank and all.
var labelValues = regexp.MustCompile(`^label_values\((.*), (.*)\)$`)

// braces are a variable in braces, which the console leaves as it is.
var braces = regexp.MustCompile(`\$\{`)

func checkConsolePanel(t *testing.T, name string, p consolePanel) {
	t.Helper()
	switch {
	case !slices.Contains(consoleTypes, p.Type):
		t.Errorf("%s: %s: the console draws no %q", name, p.Title, p.Type)
	case p.Span < 1 || p.Span > 12:
		t.Errorf("%s: %s: spans %d of 12", name, p.Title, p.Span)
	case p.Datasource != nil || p.Transformations != nil:
		t.Errorf("%s: %s: has what the console does not know", name, p.Title)
	case p.Type == "table" && len(p.Styles) <= len(p.Targets):
		t.Errorf("%s: %s: a table has no columns of labels", name, p.Title)
	}
	for _, q := range p.Targets {
		if braces.MatchString(q.Expr) {
			t.Errorf("%s: %s: %s has a variable in braces", name, p.Title, q.Expr)
		}
	}
}

// persesKinds are the plugins of Perses that panels use.
var persesKinds = []string{"TimeSeriesChart", "StatChart", "GaugeChart", "BarChart", "Table"}

// TestPersesShowsTheSame: but for what is left out with a reason, Perses asks what Grafana asks, and each panel
// has one place.
func TestPersesShowsTheSame(t *testing.T) {
	r, without := ours(t), left(t, "perses")
	for name, d := range r.perses {
		var asked []string
		placed := map[string]bool{}
		for _, layout := range d.Layouts {
			for _, item := range layout.Spec.Items {
				key, _ := strings.CutPrefix(item.Content.Ref, "#/spec/panels/")
				p, there := d.Panels[key]
				if !there || placed[key] || item.X+item.Width > 24 || item.Height < 1 {
					t.Errorf("%s: %s is not there, or has no good place: %+v", name, key, item)
				}
				placed[key] = true
				if !slices.Contains(persesKinds, p.Spec.Plugin.Kind) || p.Spec.Display.Name == "" || p.Spec.Display.Description == "" {
					t.Errorf("%s: %s lacks its kind, title or description", name, key)
				}
				for _, q := range p.Spec.Queries {
					asked = append(asked, p.Spec.Display.Name+": "+q.Spec.Plugin.Spec.Query)
				}
			}
		}
		if len(placed) != len(d.Panels) {
			t.Errorf("%s: %d of %d panels have a place", name, len(placed), len(d.Panels))
		}
		if diff := cmp.Diff(r.grafana[name].asked(without), asked); diff != "" {
			t.Errorf("%s: -Grafana +Perses:\n%s", name, diff)
		}
	}
}

// TestWhatIsLeftOutHasAReason, which docs/dashboards.md gives as well, and is of a kind that there is.
func TestWhatIsLeftOutHasAReason(t *testing.T) {
	var without map[string]struct{ Kinds, Others map[string]string }
	read(t, dashboardsOf(t, trainyard.CUE).LookupPath(cue.ParsePath("without")), &without)
	text, err := os.ReadFile(repo.Path(t, "docs", "dashboards.md"))
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]bool{}
	_, table, _ := strings.Cut(string(text), "| delivery | left out | because |")
	table, _, _ = strings.Cut(table, "\n\n")
	for _, line := range leftOut.FindAllString(table, -1) {
		told[line] = false
	}
	for delivery, left := range without {
		for kind := range left.Kinds {
			if !strings.Contains(string(ours(t).texts["queueing"]), `"type": "`+kind+`"`) {
				t.Errorf("%s leaves out %s, which there is none of", delivery, kind)
			}
		}
		maps.Copy(left.Kinds, left.Others)
		for what, why := range left.Kinds {
			line := "| `" + delivery + "` | " + what + " | " + why + " |"
			if _, found := told[line]; !found {
				t.Errorf("docs/dashboards.md does not say %s", line)
			}
			told[line] = true
		}
	}
	if len(told) == 0 {
		t.Error("nothing is left out")
	}
	for line, so := range told {
		if !so {
			t.Errorf("docs/dashboards.md says %s, which nothing else does", line)
		}
	}
}

// leftOut is a line of the table of what is left out.
var leftOut = regexp.MustCompile("(?m)^\\| `[a-z-]+` \\| [a-z ]+ \\| [^|]* \\|$")

// TestDashboardsAreSmall: a ConfigMap takes 1 MiB.
func TestDashboardsAreSmall(t *testing.T) {
	for name, text := range ours(t).texts {
		if len(text) < 1<<10 || len(text) > 1<<20 {
			t.Errorf("%s has %d bytes", name, len(text))
		}
	}
}
