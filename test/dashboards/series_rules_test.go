package dashboards

import (
	"cmp"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

// outcomes contains the labels that show the outcome of a TrainJob. For each label, it contains the
// value for failed TrainJobs and the value for successful TrainJobs.
var outcomes = map[string][]string{"phase": {"Failed", "Succeeded"}, "outcome": {"failed", "succeeded"}}

var roles = []string{"launcher", "node", "dataset-initializer", "model-initializer"}

var (
	failedSeries    = regexp.MustCompile(`(?i)\bfailed\b`)
	succeededSeries = regexp.MustCompile(`(?i)\bsucceeded\b`)
)

// checkLevels checks that a graph shows failures in red and successes in green. Lines for failures must also be dashed,
// because many people cannot distinguish red and green.
func checkLevels(p boardPanel, t target) string {
	if p.Type != "timeseries" {
		return ""
	}
	series := expandLegends([]string{t.LegendFormat}, "role", roles)
	for label, values := range outcomes {
		series = expandLegends(series, label, values)
	}
	for _, name := range series {
		colour, dashed := p.seriesStyle(name)
		switch {
		case failedSeries.MatchString(name) && (colour != "red" || !dashed):
			return "want a red and dashed line for the series " + name + ": give it the level bad"
		case succeededSeries.MatchString(name) && colour != "green":
			return "want a green line for the series " + name + ": give it the level good"
		}
	}
	return ""
}

// expandLegends expands all legends that contain a placeholder for the given label, such as {{phase}}. From each of
// these legends, expandLegends makes several legends: one for each value, with the value in place of the placeholder.
// All other legends stay unchanged.
func expandLegends(legends []string, label string, values []string) []string {
	var expanded []string
	for _, legend := range legends {
		placeholder := "{{" + label + "}}"
		if !strings.Contains(legend, placeholder) {
			expanded = append(expanded, legend)
			continue
		}
		for _, value := range values {
			expanded = append(expanded, strings.ReplaceAll(legend, placeholder, value))
		}
	}
	return expanded
}

func (p boardPanel) seriesStyle(name string) (colour string, dashed bool) {
	for _, o := range p.FieldConfig.Overrides {
		if o.Matcher.Options != name {
			continue
		}
		for _, property := range o.Properties {
			var style struct{ FixedColor, Fill string }
			_ = json.Unmarshal(property.Value, &style)
			switch property.ID {
			case "color":
				colour = style.FixedColor
			case "custom.lineStyle":
				dashed = style.Fill == "dash"
			}
		}
	}
	return colour, dashed
}

// checkDecimals checks that a panel with the unit "short" shows no decimal places, because its values are normally
// counts. If the values are not counts but, for example, cores, the panel needs an exclusion in grafana/.lint.
func checkDecimals(_ board, p boardPanel) string {
	d := p.FieldConfig.Defaults
	return messageUnless(d.Unit != "short" || d.Decimals != nil && *d.Decimals == 0, "want 0 decimal places, because values with the unit short are counts")
}

// checkJobNamed checks that a panel shows to which TrainJob each value belongs. If a query selects one TrainJob,
// the dashboard must have the visible variable "trainjob". If a query groups by TrainJob, the legend or the
// columns must show all labels of the grouping.
func checkJobNamed(b board, p boardPanel) string {
	for _, t := range p.Targets {
		if strings.Contains(t.Expr, `trainjob="$trainjob"`) {
			if v, found := b.variable("trainjob"); !found || v.Hide != 0 {
				return "want the variable trainjob to be visible, because it names the TrainJob"
			}
		}
		by := grouping.FindStringSubmatch(t.Expr)
		if by == nil || !strings.Contains(by[1], "trainjob") {
			continue
		}
		for _, label := range strings.Split(strings.ReplaceAll(by[1], " ", ""), ",") {
			if !p.shows(t, label) {
				return "want the label " + label + " in the legend or in a column, because the query has values of several TrainJobs"
			}
		}
	}
	return ""
}

// shows is a method that returns true if the panel displays the given label of the given query. In a table, the label
// must be a column with a title. In every other panel, the legend must contain the label.
func (p boardPanel) shows(t target, label string) bool {
	if p.Type != "table" {
		return strings.Contains(t.LegendFormat, "{{"+label+"}}")
	}
	for _, transformation := range p.Transformations {
		if transformation.Options.RenameByName[label] != "" {
			return true
		}
	}
	return false
}

// TestSeriesRulesDetectViolations tests the rules series-levels, count-decimals and job-named. In each test case, a
// change makes a shipped dashboard violate one rule. After the change, this rule must report one more violation than
// before.
func TestSeriesRulesDetectViolations(t *testing.T) {
	shipped := shippedDashboards(t).grafana
	for change, tc := range map[string]struct {
		rule  string
		spoil func(b *board)
		board string // the dashboard, by default "tenant"
	}{
		"a phase without levels": {rule: "series-levels", spoil: func(b *board) { b.panel("TrainJobs by phase").FieldConfig.Overrides = nil }},
		"failures in orange":     {rule: "series-levels", spoil: func(b *board) { b.setStyle("failed", "color", `{"fixedColor": "orange"}`) }},
		"failures not dashed":    {rule: "series-levels", spoil: func(b *board) { b.setStyle("failed", "custom.lineStyle", `{"fill": "solid"}`) }},
		"successes in red":       {rule: "series-levels", spoil: func(b *board) { b.setStyle("succeeded", "color", `{"fixedColor": "red"}`) }},
		"a legend without label": {rule: "series-levels", spoil: func(b *board) { b.panel("CPU").Targets[0].LegendFormat = "Failed" }},
		"node pods in orange":    {rule: "series-levels", spoil: func(b *board) { b.setStyle("node Failed", "color", `{"fixedColor": "orange"}`) }, board: "trainjob"},
		"one decimal place":      {rule: "count-decimals", spoil: func(b *board) { *b.panel("GPUs held").FieldConfig.Defaults.Decimals = 1 }},
		"any decimal places":     {rule: "count-decimals", spoil: func(b *board) { b.panel("GPUs held").FieldConfig.Defaults.Decimals = nil }},
		"legend without job":     {rule: "job-named", spoil: func(b *board) { b.panel("Memory").Targets[0].LegendFormat = "{{namespace}}" }},
		"legend without tenant":  {rule: "job-named", spoil: func(b *board) { b.panel("Memory").Targets[0].LegendFormat = "{{trainjob}}" }},
		"table without job":      {rule: "job-named", spoil: func(b *board) { b.panel("TrainJobs with pods").Transformations = nil }},
		"one job without name":   {rule: "job-named", spoil: func(b *board) { b.panel("CPU").Targets[0].Expr = `max(a{trainjob="$trainjob"})` }},
	} {
		t.Run(change, func(t *testing.T) {
			name := cmp.Or(tc.board, "tenant")
			good := shipped[name]
			bad := clone(t, good)
			tc.spoil(&bad)
			before, after := dashboardRules[tc.rule](name, good), dashboardRules[tc.rule](name, bad)
			if len(after) != len(before)+1 {
				t.Errorf("%s reports %v, and before the change %v: want one more", tc.rule, after, before)
			}
		})
	}
}

func (b *board) setStyle(series, property, value string) {
	for _, p := range b.Panels {
		for _, o := range p.FieldConfig.Overrides {
			for i := range o.Properties {
				if o.Matcher.Options == series && o.Properties[i].ID == property {
					o.Properties[i].Value = json.RawMessage(value)
				}
			}
		}
	}
}
