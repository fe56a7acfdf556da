package dashboards

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// finding is a violation of a rule in a panel, or in the dashboard itself if the field "panel" is empty.
type finding struct{ panel, message string }

// dashboardRules holds the rules of Grafana's dashboard-linter, and additional rules. The names of the
// linter's rules lack the suffix "-rule" here.
var dashboardRules = map[string]func(name string, b board) []finding{
	"template-datasource": func(_ string, b board) []finding {
		v, found := b.variable("datasource")
		return findingIf(!found || v.Type != "datasource" || v.variableQuery() != "prometheus", "", "want a variable datasource that selects data sources of type prometheus")
	},
	"panel-datasource": eachPanel(func(_ board, p boardPanel) string {
		sources := []datasource{p.Datasource}
		for _, t := range p.Targets {
			sources = append(sources, t.Datasource)
		}
		return messageUnless(!slices.ContainsFunc(sources, func(d datasource) bool { return d != (datasource{"prometheus", "${datasource}"}) }), "want ${datasource} as data source of the panel and its queries")
	}),
	"template-job":      wantVariable("job"),
	"template-instance": wantVariable("instance"),
	"target-job":        wantMatcher("job"),
	"target-instance":   wantMatcher("instance"),
	"template-on-time-change-reload": eachVariable(func(_ board, v variable) string {
		return messageUnless(v.Refresh == 2, "want refresh 2, got %d", v.Refresh)
	}),
	"template-all": eachVariable(func(b board, v variable) string {
		several := v.IncludeAll && v.Multi && v.AllValue == ".+"
		one := !v.IncludeAll && !v.Multi
		if used := "=~\"$" + v.Name + `"`; several && strings.Contains(b.listQueries(), "=\"$"+v.Name+`"`) || one && strings.Contains(b.listQueries(), used) {
			return "want =~ for variables with several values, and = for variables with one value"
		}
		return messageUnless(several || one, "want a variable with a single value, or with several values and .+ as the value for all")
	}),
	"template-used": eachVariable(func(b board, v variable) string {
		return messageUnless(strings.Contains(b.listQueries(), "$"+v.Name), "no query uses the variable")
	}),
	"template-prefix": eachVariable(func(b board, v variable) string {
		for _, other := range b.Templating.List {
			if other.Name != v.Name && strings.HasPrefix(other.Name, v.Name) {
				return "rename the variable, because the OpenShift console would also replace it inside $" + other.Name
			}
		}
		return messageUnless(!strings.HasPrefix(v.Name, "__"), "want a name that Grafana does not reserve")
	}),
	"panel-title-description": eachPanel(func(_ board, p boardPanel) string {
		return messageUnless(p.Title != "" && strings.HasSuffix(p.Description, "."), "want a title, and a description in sentences")
	}),
	"panel-title-unique": func(_ string, b board) (found []finding) {
		row, seen := "", map[string]bool{}
		for _, p := range b.Panels {
			if p.Type == "row" {
				row = p.Title
			}
			if seen[row+"/"+p.Title] {
				found = append(found, finding{p.Title, "the row contains the title twice"})
			}
			seen[row+"/"+p.Title] = true
		}
		return found
	},
	"panel-units": eachPanel(func(_ board, p boardPanel) string {
		return messageUnless(units[p.FieldConfig.Defaults.Unit], "want a unit that all viewers support, got %q", p.FieldConfig.Defaults.Unit)
	}),
	"panel-no-targets": eachPanel(func(_ board, p boardPanel) string {
		return messageUnless(len(p.Targets) > 0 && !slices.ContainsFunc(p.Targets, func(t target) bool { return t.Expr == "" }), "want a query")
	}),
	"panel-one-number": eachPanel(func(_ board, p boardPanel) string {
		number := p.Type == "stat" || p.Type == "gauge"
		return messageUnless(!number || len(p.Targets) == 1, "want one query, because the OpenShift console shows only the first")
	}),
	"target-rate-interval": eachTarget(func(_ boardPanel, t target) string {
		for _, window := range windows.FindAllStringSubmatch(t.Expr, -1) {
			if window[1] != "$__rate_interval" {
				return "want [$__rate_interval], got [" + window[1] + "]"
			}
		}
		return ""
	}),
	"target-counter-agg": eachTarget(func(_ boardPanel, t target) string {
		for _, at := range metrics.FindAllStringIndex(t.Expr, -1) {
			before, metric := t.Expr[:at[0]], t.Expr[at[0]:at[1]]
			if counter.MatchString(metric) && !strings.HasSuffix(before, "rate(") && !strings.HasSuffix(before, "increase(") {
				return "want rate or increase of " + metric
			}
		}
		return ""
	}),
	"target-own-series": eachPanel(func(b board, p boardPanel) string {
		if _, found := b.variable("namespace"); !found {
			return ""
		}
		for _, t := range p.Targets {
			if own := ownSeries.FindString(t.Expr); own != "" {
				return "users with access to one namespace cannot query " + own + ", which is in the controller's namespace"
			}
		}
		return ""
	}),
	"uneditable-dashboard": func(_ string, b board) []finding {
		return findingIf(b.Editable, "", "want editable: false, because the next delivery undoes edits")
	},
	"uid-stable": func(name string, b board) []finding {
		return findingIf(b.UID != "ty-"+name || len(b.UID) > 40, "", fmt.Sprintf("want uid ty-%s of at most 40 characters", name))
	},
	"tag": func(_ string, b board) []finding {
		return findingIf(!slices.Equal(b.Tags, []string{"trainyard"}), "", "want the tag trainyard")
	},
	"links": func(_ string, b board) []finding {
		kept := len(b.Links) == 1 && b.Links[0].Type == "dashboards" && b.Links[0].IncludeVars && b.Links[0].KeepTime
		found := findingIf(!kept, "", "want a link to the other dashboards that keeps variables and time range")
		for _, p := range b.Panels {
			for _, link := range p.seriesLinks() {
				for _, want := range []string{"/d/ty-", "${datasource:queryparam}", "${__url_time_range}", "var-namespace=${"} {
					found = append(found, findingIf(!strings.Contains(link.URL, want), p.Title, "want "+want+" in "+link.URL)...)
				}
			}
		}
		return found
	},
	"no-datasource-uid": eachVariable(func(_ board, v variable) string {
		return messageUnless(v.Datasource.UID == "${datasource}", "want the variable ${datasource}, not a fixed data source")
	}),
	"threshold-legend": eachPanel(func(_ board, p boardPanel) string {
		steps := len(p.FieldConfig.Defaults.Thresholds.Steps)
		words := strings.Count(p.Description, "Below ") + strings.Count(p.Description, "From ")
		return messageUnless(steps == 1 || steps > 1 && words >= steps, "want a description of each of %d colors", steps)
	}),
	"legend": eachTarget(func(p boardPanel, t target) string {
		if p.Type == "table" || p.Type == "heatmap" {
			return ""
		}
		by := grouping.FindStringSubmatch(t.Expr)
		if by == nil {
			return messageUnless(!strings.Contains(t.LegendFormat, "{{"), "want a legend without labels, because the query does not group by labels")
		}
		labels := strings.Split(strings.ReplaceAll(by[1], " ", ""), ",")
		for _, match := range names.FindAllStringSubmatch(t.LegendFormat, -1) {
			if !slices.Contains(labels, match[1]) {
				return "the legend names the label " + match[1] + ", but the query does not group by this label"
			}
		}
		for _, label := range labels {
			named := strings.Contains(t.LegendFormat, "{{"+label+"}}") || label == "le" || label == "pod" && strings.Contains(t.LegendFormat, "{{role}} {{index}}")
			if !named {
				return "the legend does not name the label " + label
			}
		}
		return ""
	}),
	"cardinality": eachTarget(func(_ boardPanel, t target) string {
		if bound := top.FindStringSubmatch(t.Expr); bound != nil && len(bound[1]) > 2 {
			return "want at most 99 series"
		}
		one := strings.Contains(t.Expr, "$namespace") && strings.Contains(t.Expr, "$trainjob")
		if !aggregated.MatchString(t.Expr) {
			return messageUnless(one, "want an aggregation of the whole query, or a query about one TrainJob")
		}
		by := grouping.FindStringSubmatch(t.Expr)
		return messageUnless(one || by == nil || !strings.Contains(","+strings.ReplaceAll(by[1], " ", "")+",", ",pod,"), "want no grouping by pod, or a query about one TrainJob")
	}),
	"series-levels":  eachTarget(checkLevels),
	"count-decimals": eachPanel(checkDecimals),
	"job-named":      eachPanel(checkJobNamed),
	"grid": func(_ string, b board) (found []finding) {
		for i, p := range b.Panels {
			g := p.GridPos
			found = append(found, findingIf(g.W < 1 || g.H < 1 || g.X < 0 || g.X+g.W > 24, p.Title, "exceeds the grid")...)
			for _, o := range b.Panels[:i] {
				apart := g.X >= o.GridPos.X+o.GridPos.W || o.GridPos.X >= g.X+g.W || g.Y >= o.GridPos.Y+o.GridPos.H || o.GridPos.Y >= g.Y+g.H
				found = append(found, findingIf(!apart, p.Title, "overlaps "+o.Title)...)
				found = append(found, findingIf(p.ID == o.ID, p.Title, "has the id of "+o.Title)...)
			}
		}
		return found
	},
}

var (
	ownSeries  = regexp.MustCompile(`\btrainyard_[a-z_]+`)
	units      = map[string]bool{"short": true, "percentunit": true, "s": true, "bytes": true, "Bps": true, "celsius": true, "watt": true, "ops": true}
	windows    = regexp.MustCompile(`\[([^\]:]*)`)
	metrics    = regexp.MustCompile(`[a-zA-Z_:][a-zA-Z0-9_:]*`)
	counter    = regexp.MustCompile(`^[^:]*_(total|bucket|count)$`)
	grouping   = regexp.MustCompile(`^[a-z0-9_(., ]*by \(([^)]*)\)`)
	names      = regexp.MustCompile(`{{([^}]*)}}`)
	top        = regexp.MustCompile(`(?:top|bottom)k\((\d+)`)
	aggregated = regexp.MustCompile(`^\(*(sum|avg|min|max|count|topk|bottomk|histogram_quantile)( by \(|\()`)
)

func (b board) variable(name string) (variable, bool) {
	i := slices.IndexFunc(b.Templating.List, func(v variable) bool { return v.Name == name })
	if i < 0 {
		return variable{}, false
	}
	return b.Templating.List[i], true
}

func (b board) listQueries() string {
	var all []string
	for _, v := range b.Templating.List {
		all = append(all, v.variableQuery())
	}
	for _, p := range b.Panels {
		for _, t := range p.Targets {
			all = append(all, t.Expr)
		}
	}
	return strings.Join(all, "\n")
}

func eachPanel(check func(b board, p boardPanel) string) func(string, board) []finding {
	return func(_ string, b board) (found []finding) {
		for _, p := range b.Panels {
			if p.Type == "row" {
				continue
			}
			if message := check(b, p); message != "" {
				found = append(found, finding{p.Title, message})
			}
		}
		return found
	}
}

func eachTarget(check func(p boardPanel, t target) string) func(string, board) []finding {
	return eachPanel(func(_ board, p boardPanel) string {
		for _, t := range p.Targets {
			if message := check(p, t); message != "" {
				return message
			}
		}
		return ""
	})
}

// eachVariable returns a rule that calls the function "check" for each variable that queries Prometheus.
func eachVariable(check func(b board, v variable) string) func(string, board) []finding {
	return func(_ string, b board) (found []finding) {
		for _, v := range b.Templating.List {
			if v.Type != "query" {
				continue
			}
			if message := check(b, v); message != "" {
				found = append(found, finding{"", "$" + v.Name + ": " + message})
			}
		}
		return found
	}
}

func wantVariable(name string) func(string, board) []finding {
	return func(_ string, b board) []finding {
		v, found := b.variable(name)
		return findingIf(!found || !v.Multi || v.AllValue != ".+", "", "want a variable "+name)
	}
}

func wantMatcher(label string) func(string, board) []finding {
	return eachTarget(func(_ boardPanel, t target) string {
		return messageUnless(strings.Contains(t.Expr, label+"=~\"$"+label+`"`), "want a matcher of %s", label)
	})
}

func findingIf(violated bool, panel, message string) []finding {
	if violated {
		return []finding{{panel, message}}
	}
	return nil
}

func messageUnless(valid bool, format string, args ...any) string {
	if valid {
		return ""
	}
	return fmt.Sprintf(format, args...)
}
