// Package panels is what our dashboards ask of Prometheus, as data for who shows it elsewhere: trainyard's server,
// its web dashboard and the SDK. It is written in CUE, in grafana/dashboards; panels.json is made of it.
package panels

import (
	_ "embed"
	"encoding/json"
	"fmt"
)

// JSON is all dashboards, as those read them who do not read Go: a list of what Dashboard is.
//
//go:embed panels.json
var JSON []byte

// Dashboard is the panels of a dashboard, in order.
type Dashboard struct {
	Name        string   `json:"name"` // such as trainjob; it stays
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Variables   []string `json:"variables"` // labels that queries have as $label: with =~ for several values, with = for one
	Panels      []Panel  `json:"panels"`
}

// Panel is a question, and what is asked of Prometheus to answer it.
type Panel struct {
	Key         string   `json:"key"` // such as gpus/tensor, row and panel; it stays
	Row         string   `json:"row"` // the title of its row
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Kind        string   `json:"kind"` // timeseries, stat, gauge, bargauge, table or heatmap
	Unit        string   `json:"unit"` // by Grafana's name, such as s or percentunit
	X           int      `json:"x"`    // where it stands in its row, whose grid has 24 columns
	Y           int      `json:"y"`
	Width       int      `json:"width"`
	Height      int      `json:"height"`
	Min         *float64 `json:"min,omitempty"` // the ends of the scale, where they are known
	Max         *float64 `json:"max,omitempty"`
	Stacked     bool     `json:"stacked,omitempty"`  // whether the series are parts of a whole
	Steps       []Step   `json:"steps,omitempty"`    // what values mean, lowest first
	Interval    string   `json:"interval,omitempty"` // such as 1h: the least time between values, and the least $__rate_interval
	Columns     []Column `json:"columns,omitempty"`  // the labels that a table shows, before the values
	Queries     []Query  `json:"queries"`
}

// Step is what values mean from a number on; the first of them, what those below the second do.
type Step struct {
	From  float64 `json:"from"`
	Level string  `json:"level"` // good, notice, bad or neutral
	Text  string  `json:"text"`  // the same in words
}

// Column is a label in a table.
type Column struct {
	Label string `json:"label"`
	Title string `json:"title"`
}

// Query is PromQL with $variables, of which $__rate_interval is a duration: at least four times the interval
// between samples.
type Query struct {
	Expr   string `json:"expr"`
	Legend string `json:"legend"` // with labels such as {{pod}}; the title of the column in a table
	Unit   string `json:"unit"`
}

// All reads the dashboards, in the order in which people look at them.
func All() ([]Dashboard, error) {
	var all []Dashboard
	if err := json.Unmarshal(JSON, &all); err != nil {
		return nil, fmt.Errorf("reading panels: %w", err)
	}
	return all, nil
}
