// Package panels provides the panels and Prometheus queries of trainyard's Grafana dashboards as data. Programs
// can use the data to show panels outside Grafana, for example the planned server and web dashboard of trainyard.
// The sources of the Grafana dashboards are CUE files in grafana/dashboards. The file panels.json is generated
// from these CUE files.
package panels

import (
	_ "embed"
	"encoding/json"
	"fmt"
)

// JSON holds all Grafana dashboards, for programs in other languages. Each item of the JSON list has the fields of
// Dashboard.
//
//go:embed panels.json
var JSON []byte

// Dashboard is a Grafana dashboard. Its panels are in display order.
type Dashboard struct {
	Name        string   `json:"name"` // the permanent name, such as trainjob
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Variables   []string `json:"variables"` // labels whose values users choose; in queries, =~"$label" allows several values, and ="$label" allows one value
	Panels      []Panel  `json:"panels"`
}

// Panel is a panel with its Prometheus queries.
type Panel struct {
	Key         string            `json:"key"` // the permanent keys of row and panel, joined by a slash, such as gpus/tensor
	Row         string            `json:"row"` // the title of the panel's row
	Title       string            `json:"title"`
	Description string            `json:"description"`
	Kind        string            `json:"kind"` // timeseries, stat, gauge, bargauge, table or heatmap
	Unit        string            `json:"unit"` // Grafana's name of the unit, such as s or percentunit
	X           int               `json:"x"`    // position in the row's grid, which has 24 columns
	Y           int               `json:"y"`
	Width       int               `json:"width"`
	Height      int               `json:"height"`
	Min         *float64          `json:"min,omitempty"` // smallest and largest value of the scale, if known
	Max         *float64          `json:"max,omitempty"`
	Decimals    *int              `json:"decimals,omitempty"`   // decimal places of numbers, if fixed
	Stacked     bool              `json:"stacked,omitempty"`    // whether the series add up to a total
	Levels      map[string]string `json:"levels,omitempty"`     // levels of series (good, notice, bad or neutral), keyed by legend
	Steps       []Step            `json:"steps,omitempty"`      // meanings of ranges of values, lowest range first
	Controller  bool              `json:"controller,omitempty"` // whether the queries need metrics of trainyard's controller
	Interval    string            `json:"interval,omitempty"`   // lower limit of $__rate_interval and of the time between two points, such as 1h
	Columns     []Column          `json:"columns,omitempty"`    // labels that a table shows in front of the values
	Queries     []Query           `json:"queries"`
}

// Step describes a range of values. The range begins at the number in the field From, and ends where the
// next Step of the panel begins. The first Step of a panel has no lower bound.
type Step struct {
	From  float64 `json:"from"`
	Level string  `json:"level"` // good, notice, bad or neutral
	Text  string  `json:"text"`  // the meaning in words
}

// Column is a label that a table shows.
type Column struct {
	Label string `json:"label"`
	Title string `json:"title"`
}

// Query is a PromQL expression that can contain variables, such as $namespace. The variable $__rate_interval stands
// for a duration of at least four times the scrape interval.
type Query struct {
	Expr   string `json:"expr"`
	Legend string `json:"legend"` // name of a series, which can contain labels such as {{pod}}; in a table, the title of the query's column
	Unit   string `json:"unit"`
}

// All returns the dashboards, in display order.
func All() ([]Dashboard, error) {
	var all []Dashboard
	if err := json.Unmarshal(JSON, &all); err != nil {
		return nil, fmt.Errorf("reading panels: %w", err)
	}
	return all, nil
}
