// Package observed reads what grafana/ says, for tests and for what is written from it.
package observed

import (
	"fmt"
	"maps"
	"slices"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/load"

	"github.com/trainyard/trainyard"
)

// Grafana is what grafana/ says: metrics, who else emits some, what Prometheus makes of them, and when it
// alerts. Each is by name.
type Grafana struct {
	Metrics map[string]Metric `json:"metrics"`
	Labels  map[string]Label  `json:"labels"`
	Sources map[string]Source `json:"sources"`
	Records map[string]Record `json:"records"`
	Alerts  map[string]Alert  `json:"alerts"`

	// Groups are all of them as Prometheus reads them, alerts last.
	Groups []Group `json:"recordGroups"`
}

// Metric is a series of our own.
type Metric struct {
	Type, Unit, Help, Emits string
	Labels                  []string
	FromZero                bool
	Most                    int // how many series there can be
}

// Label is one of our own metrics.
type Label struct {
	Says   string
	Values []string
	Most   int
}

// Source is a program of others.
type Source struct {
	Says, Since, Needs string
	Metrics            map[string][]string // with their labels
}

// Record is what Prometheus computes.
type Record struct {
	Says, Group, Expr, Unit string
	Stage                   int
	Labels                  []string
	Tests                   map[string]struct {
		Series map[string]string
		At     string
		Want   map[string]float64
	}
}

// Alert is when somebody is told.
type Alert struct {
	Severity, Finds, Expr, For, Summary, Description string
	Per, Explained                                   []string
	Tests                                            struct {
		Fires struct {
			Series, Labels map[string]string
			At, Says, Over string
		}
		Below, Pending Case
		Explained      map[string]Case // by the alert that explains it
	}
}

// Case is series, and when they are looked at.
type Case struct {
	Series map[string]string
	At     string
}

// Group is one of Prometheus' rules.
type Group struct {
	Name  string           `json:"name"`
	Rules []map[string]any `json:"rules"`
}

// Read reads grafana/. The pages of alerts are where runbooks says.
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

// Sorted are the keys of a map.
func Sorted[V any](of map[string]V) []string { return slices.Sorted(maps.Keys(of)) }
