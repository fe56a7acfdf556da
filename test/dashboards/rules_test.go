package dashboards

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// finding is something about a panel or, with an empty one, about the dashboard.
type finding struct{ panel, says string }

// rules are those of Grafana's dashboard-linter, under its names, and ours.
var rules = map[string]func(name string, b board) []finding{
	"template-datasource": func(_ string, b board) []finding {
		v, found := b.variable("datasource")
		return when(!found || v.Type != "datasource" || v.asks() != "prometheus", "", "want a variable datasource of type prometheus")
	},
	"panel-datasource": eachPanel(func(_ board, p boardPanel) string {
		sources := []datasource{p.Datasource}
		for _, t := range p.Targets {
			sources = append(sources, t.Datasource)
		}
		return unless(!slices.ContainsFunc(sources, func(d datasource) bool { return d != (datasource{"prometheus", "${datasource}"}) }), "want ${datasource}")
	}),
	"template-job":      wantVariable("job"),
	"template-instance": wantVariable("instance"),
	"target-job":        wantMatcher("job"),
	"target-instance":   wantMatcher("instance"),
	"template-on-time-change-reload": eachVariable(func(_ board, v variable) string {
		return unless(v.Refresh == 2, "want refresh 2, got %d", v.Refresh)
	}),
	"template-all": eachVariable(func(b board, v variable) string {
		several := v.IncludeAll && v.Multi && v.AllValue == ".+"
		one := !v.IncludeAll && !v.Multi
		if used := "=~\"$" + v.Name + `"`; several && strings.Contains(b.queries(), "=\"$"+v.Name+`"`) || one && strings.Contains(b.queries(), used) {
			return "want =~ where several may be chosen, and = where one"
		}
		return unless(several || one, "want one, or several with all as .+")
	}),
	"template-used": eachVariable(func(b board, v variable) string {
		return unless(strings.Contains(b.queries(), "$"+v.Name), "nobody asks for what is chosen")
	}),
	"template-prefix": eachVariable(func(b board, v variable) string {
		for _, other := range b.Templating.List {
			if other.Name != v.Name && strings.HasPrefix(other.Name, v.Name) {
				return "the console of OpenShift would replace it in $" + other.Name
			}
		}
		return unless(!strings.HasPrefix(v.Name, "__"), "want a name that is not Grafana's own")
	}),
	"panel-title-description": eachPanel(func(_ board, p boardPanel) string {
		return unless(p.Title != "" && strings.HasSuffix(p.Description, "."), "want a title, and a description in sentences")
	}),
	"panel-title-unique": func(_ string, b board) (found []finding) {
		row, seen := "", map[string]bool{}
		for _, p := range b.Panels {
			if p.Type == "row" {
				row = p.Title
			}
			if seen[row+"/"+p.Title] {
				found = append(found, finding{p.Title, "stands in a row twice"})
			}
			seen[row+"/"+p.Title] = true
		}
		return found
	},
	"panel-units": eachPanel(func(_ board, p boardPanel) string {
		return unless(units[p.FieldConfig.Defaults.Unit], "want a unit that all know, got %q", p.FieldConfig.Defaults.Unit)
	}),
	"panel-no-targets": eachPanel(func(_ board, p boardPanel) string {
		return unless(len(p.Targets) > 0 && !slices.ContainsFunc(p.Targets, func(t target) bool { return t.Expr == "" }), "asks nothing")
	}),
	"panel-one-number": eachPanel(func(_ board, p boardPanel) string {
		number := p.Type == "stat" || p.Type == "gauge"
		return unless(!number || len(p.Targets) == 1, "the console of OpenShift shows the first of several")
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
				return "who sees one namespace only does not see " + own + ", which is of the controller's"
			}
		}
		return ""
	}),
	"uneditable-dashboard": func(_ string, b board) []finding {
		return when(b.Editable, "", "want editable: false, because the next delivery undoes edits")
	},
	"uid-stable": func(name string, b board) []finding {
		return when(b.UID != "ty-"+name || len(b.UID) > 40, "", fmt.Sprintf("want uid ty-%s of at most 40 characters", name))
	},
	"tag": func(_ string, b board) []finding {
		return when(!slices.Equal(b.Tags, []string{"trainyard"}), "", "want the tag trainyard")
	},
	"links": func(_ string, b board) []finding {
		kept := len(b.Links) == 1 && b.Links[0].Type == "dashboards" && b.Links[0].IncludeVars && b.Links[0].KeepTime
		found := when(!kept, "", "want a link to the others that keeps variables and time")
		for _, p := range b.Panels {
			for _, link := range p.links() {
				for _, want := range []string{"/d/ty-", "${datasource:queryparam}", "${__url_time_range}", "var-namespace=${"} {
					found = append(found, when(!strings.Contains(link.URL, want), p.Title, "want "+want+" in "+link.URL)...)
				}
			}
		}
		return found
	},
	"no-datasource-uid": eachVariable(func(_ board, v variable) string {
		return unless(v.Datasource.UID == "${datasource}", "want no data source of one Grafana only")
	}),
	"threshold-legend": eachPanel(func(_ board, p boardPanel) string {
		steps := len(p.FieldConfig.Defaults.Thresholds.Steps)
		words := strings.Count(p.Description, "Below ") + strings.Count(p.Description, "From ")
		return unless(steps == 1 || steps > 1 && words >= steps, "want words for each of %d colours", steps)
	}),
	"legend": eachTarget(func(p boardPanel, t target) string {
		if p.Type == "table" || p.Type == "heatmap" {
			return ""
		}
		by := grouping.FindStringSubmatch(t.Expr)
		if by == nil {
			return unless(!strings.Contains(t.LegendFormat, "{{"), "names labels that are not asked for")
		}
		labels := strings.Split(strings.ReplaceAll(by[1], " ", ""), ",")
		for _, named := range names.FindAllStringSubmatch(t.LegendFormat, -1) {
			if !slices.Contains(labels, named[1]) {
				return "names the label " + named[1] + ", which is not asked for"
			}
		}
		for _, label := range labels {
			told := strings.Contains(t.LegendFormat, "{{"+label+"}}") || label == "le" || label == "pod" && strings.Contains(t.LegendFormat, "{{role}} {{index}}")
			if !told {
				return "does not name the label " + label
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
			return unless(one, "want an aggregation around it all, or one TrainJob")
		}
		by := grouping.FindStringSubmatch(t.Expr)
		return unless(one || by == nil || !strings.Contains(","+strings.ReplaceAll(by[1], " ", "")+",", ",pod,"), "want no series for each pod, or one TrainJob")
	}),
	"grid": func(_ string, b board) (found []finding) {
		for i, p := range b.Panels {
			g := p.GridPos
			found = append(found, when(g.W < 1 || g.H < 1 || g.X < 0 || g.X+g.W > 24, p.Title, "does not fit the grid")...)
			for _, o := range b.Panels[:i] {
				apart := g.X >= o.GridPos.X+o.GridPos.W || o.GridPos.X >= g.X+g.W || g.Y >= o.GridPos.Y+o.GridPos.H || o.GridPos.Y >= g.Y+g.H
				found = append(found, when(!apart, p.Title, "lies over "+o.Title)...)
				found = append(found, when(p.ID == o.ID, p.Title, "has the number of "+o.Title)...)
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

// queries are all that is asked, of panels and of variables.
func (b board) queries() string {
	var all []string
	for _, v := range b.Templating.List {
		all = append(all, v.asks())
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
			if says := check(b, p); says != "" {
				found = append(found, finding{p.Title, says})
			}
		}
		return found
	}
}

func eachTarget(check func(p boardPanel, t target) string) func(string, board) []finding {
	return eachPanel(func(_ board, p boardPanel) string {
		for _, t := range p.Targets {
			if says := check(p, t); says != "" {
				return says
			}
		}
		return ""
	})
}

// eachVariable looks at those that ask Prometheus.
func eachVariable(check func(b board, v variable) string) func(string, board) []finding {
	return func(_ string, b board) (found []finding) {
		for _, v := range b.Templating.List {
			if v.Type != "query" {
				continue
			}
			if says := check(b, v); says != "" {
				found = append(found, finding{"", "$" + v.Name + ": " + says})
			}
		}
		return found
	}
}

func wantVariable(name string) func(string, board) []finding {
	return func(_ string, b board) []finding {
		v, found := b.variable(name)
		return when(!found || !v.Multi || v.AllValue != ".+", "", "want a variable "+name)
	}
}

func wantMatcher(label string) func(string, board) []finding {
	return eachTarget(func(_ boardPanel, t target) string {
		return unless(strings.Contains(t.Expr, label+"=~\"$"+label+`"`), "want a matcher of %s", label)
	})
}

func when(wrong bool, panel, says string) []finding {
	if wrong {
		return []finding{{panel, says}}
	}
	return nil
}

func unless(right bool, format string, args ...any) string {
	if right {
		return ""
	}
	return fmt.Sprintf(format, args...)
}
