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

// Grafana holds the metrics, labels, exporters, recording rules and alerts of grafana/, by name.
type Grafana struct {
	Metrics map[string]Metric `json:"metrics"`
	Labels  map[string]Label  `json:"labels"`
	Sources map[string]Source `json:"sources"`
	Records map[string]Record `json:"records"`
	Alerts  map[string]Alert  `json:"alerts"`

	// Groups holds all rules as rule groups of Prometheus. The group of the alerts is last.
	Groups []Group `json:"recordGroups"`
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

// Source is an exporter of another project.
type Source struct {
	Description, Since, Requires string
	Metrics                      map[string][]string // the labels of each metric
}

// Record is a recording rule.
type Record struct {
	Description, Group, Expr, Unit string
	Stage                          int
	Labels                         []string
	Tests                          map[string]struct {
		Series map[string]string
		At     string
		Want   map[string]float64
	}
}

// Alert is an alerting rule.
type Alert struct {
	Severity, Condition, Expr, For, Summary, Description string
	Per, InhibitedBy                                     []string
	Tests                                                struct {
		Fires struct {
			Series, Labels              map[string]string
			At, Description, ResolvedAt string
		}
		Below, Pending Case
		Inhibited      map[string]Case // the keys are names of inhibiting alerts
	}
}

// Case holds the input series of a test case and the time of evaluation.
type Case struct {
	Series map[string]string
	At     string
}

// Group is a rule group of Prometheus.
type Group struct {
	Name  string           `json:"name"`
	Rules []map[string]any `json:"rules"`
}

// Read reads the CUE definitions in grafana/. The argument runbooks is the base URL of the runbooks to which alerts
// link.
func Read(runbooks string) (Grafana, error) {
	var g Grafana
	instances := load.Instances([]string{"./grafana"}, &load.Config{FS: trainyard.CUE, Dir: "/"})
	built := cuecontext.New().BuildInstance(instances[0])
	if err := built.Decode(&g); err != nil {
		return g, fmt.Errorf("reading grafana: %w", err)
	}
	var alerts Group
	filled := built.LookupPath(cue.ParsePath("alertGroup")).FillPath(cue.ParsePath("runbooks"), runbooks)
	if err := filled.LookupPath(cue.ParsePath("out")).Decode(&alerts); err != nil {
		return g, fmt.Errorf("reading alerts: %w", err)
	}
	g.Groups = append(g.Groups, alerts)
	return g, nil
}

// Sorted returns the sorted keys of a map.
func Sorted[V any](of map[string]V) []string { return slices.Sorted(maps.Keys(of)) }
