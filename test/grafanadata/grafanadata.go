// Package grafanadata reads the CUE definitions in grafana/, for tests and for generated documentation.
package grafanadata

import (
	"fmt"
	"maps"
	"slices"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/load"

	"github.com/trainyard/trainyard"
)

// Grafana is the content of the folder grafana/. The keys of the first five maps are the names of
// metrics, labels, exporters, recording rules and alerts.
type Grafana struct {
	Metrics map[string]Metric `json:"metrics"`
	Labels  map[string]Label  `json:"labels"`
	Sources map[string]Source `json:"sources"`
	Records map[string]Record `json:"records"`
	Alerts  map[string]Alert  `json:"alerts"`

	// Xids holds the Xids (error codes of NVIDIA GPUs) that raise an alert, with NVIDIA's descriptions.
	Xids map[string]string `json:"xids"`

	// Groups holds all rules as rule groups of Prometheus. The list Groups ends with the groups of
	// alerts.
	Groups []Group `json:"-"`

	// Controller is true if Groups, Records and Alerts contain the rules for clusters with trainyard's controller.
	Controller bool `json:"-"`

	alone []Group // the rules for clusters without trainyard's controller
}

// Metric is one of trainyard's own metrics.
type Metric struct {
	Type, Unit, Help, Emits string
	Labels                  []string
	FromZero                bool
	MaxSeries               int // the maximum number of series
}

// Label is a label of trainyard's own metrics.
type Label struct {
	Description string
	Values      []string
	MaxValues   int
}

// Source describes an exporter that belongs to another project.
type Source struct {
	Description, Since, Requires string
	Metrics                      map[string][]string // the labels of each metric
}

// Record is a recording rule.
type Record struct {
	Description, Group, Expr, ExprAlone, Unit string
	Stage                                     int
	Controller                                bool // whether the rule needs trainyard's controller
	Labels                                    []string
	Tests                                     map[string]Sample // the keys are descriptions
}

// Sample is a test case of a recording rule. The field Series contains input series in promtool's notation, and the
// field At contains the time of evaluation. The field Want contains the values that the rule must record. Each key of
// Want consists of the labels of one recorded series.
type Sample struct {
	Series map[string]string
	At     string
	Want   map[string]float64
}

// Alert is an alerting rule.
type Alert struct {
	Severity, Group, Condition, Expr, ExprAlone, For, Summary, Description string
	Controller                                                             bool // whether the alert needs trainyard's controller
	Per, InhibitedBy                                                       []string
	Tests                                                                  struct {
		Fires struct {
			Series, Labels              map[string]string
			At, Description, ResolvedAt string
		}
		Below, Pending Case
		Quiet, Also    map[string]Case // the keys are descriptions
		Inhibited      map[string]Case // the keys are names of inhibiting alerts
	}
}

// Case is a test case of an alert: input series in promtool's notation, and the time of evaluation.
type Case struct {
	Series map[string]string
	At     string
}

// Group is a rule group of Prometheus.
type Group struct {
	Name  string           `json:"name"`
	Rules []map[string]any `json:"rules"`
}

// Read reads the CUE definitions in grafana/. The argument "runbooks" is the base URL of the runbooks to which alerts
// link.
func Read(runbooks string) (Grafana, error) {
	var g Grafana
	instances := load.Instances([]string{"./grafana"}, &load.Config{FS: trainyard.CUE, Dir: "/"})
	built := cuecontext.New().BuildInstance(instances[0])
	if err := built.Decode(&g); err != nil {
		return g, fmt.Errorf("reading grafana: %w", err)
	}
	var err error
	g.Controller = true
	if g.Groups, err = ruleGroups(built, runbooks, true); err != nil {
		return g, err
	}
	g.alone, err = ruleGroups(built, runbooks, false)
	return g, err
}

// ruleGroups returns the rule groups from the CUE definitions in the argument "grafana". If the argument "controller"
// is true, these rule groups are for clusters with trainyard's controller. If the argument "controller" is false, the
// rule groups are for clusters without trainyard's controller.
func ruleGroups(grafana cue.Value, runbooks string, controller bool) ([]Group, error) {
	var all []Group
	for _, name := range []string{"#RecordGroups", "#AlertGroups"} {
		var some []Group
		filled := grafana.LookupPath(cue.ParsePath(name)).FillPath(cue.ParsePath("controller"), controller).FillPath(cue.ParsePath("runbooks"), runbooks)
		if err := filled.LookupPath(cue.ParsePath("out")).Decode(&some); err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		all = append(all, some...)
	}
	return all, nil
}

// Alone returns a copy of g for clusters without trainyard's controller. The copy does not contain the rules that need
// the controller. In each rule of the copy, the value of the field ExprAlone replaces the value of the field Expr.
func (g Grafana) Alone() Grafana {
	g.Controller, g.Groups, g.Records, g.Alerts = false, g.alone, maps.Clone(g.Records), maps.Clone(g.Alerts)
	for name, r := range g.Records {
		if r.Expr = r.ExprAlone; r.Controller {
			delete(g.Records, name)
			continue
		}
		g.Records[name] = r
	}
	maps.DeleteFunc(g.Alerts, func(_ string, a Alert) bool { return a.Controller })
	for name, a := range g.Alerts {
		a.Expr = a.ExprAlone
		a.InhibitedBy = slices.DeleteFunc(slices.Clone(a.InhibitedBy), func(other string) bool { _, known := g.Alerts[other]; return !known })
		g.Alerts[name] = a
	}
	return g
}

// Sorted returns the sorted keys of a map.
func Sorted[V any](of map[string]V) []string { return slices.Sorted(maps.Keys(of)) }
