// Command rulecost measures how long Prometheus takes to evaluate rules. The command reads rule groups and series as
// JSON, and writes the series into Prometheus' own storage. Then the command evaluates the groups with Prometheus' own
// code, and writes the times as JSON.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
)

// input is the JSON that rulecost reads.
type input struct {
	Tenants int    `json:"tenants"`
	Jobs    int    `json:"jobs"` // TrainJobs of each tenant
	Rounds  int    `json:"rounds"`
	Dir     string `json:"dir"` // an empty folder for the storage of Prometheus

	// PerJob, PerTenant and Once contain series in the notation of promtool, with one value for each scrape. In a
	// label, the text {tenant} stands for the number of a tenant. The text {job} stands for the number of a tenant and
	// the number of one of its TrainJobs, such as 003-0012.
	PerJob    []string `json:"perJob"`
	PerTenant []string `json:"perTenant"`
	Once      []string `json:"once"`

	Groups []group `json:"groups"`
}

type group struct {
	Name  string `json:"name"`
	Rules []rule `json:"rules"`
}

type rule struct {
	Record string `json:"record,omitempty"`
	Alert  string `json:"alert,omitempty"`
	Expr   string `json:"expr"`
	For    string `json:"for,omitempty"`
}

func (r rule) name() string { return r.Record + r.Alert }

// output is the JSON that rulecost writes.
type output struct {
	Series   int         `json:"series"`   // number of series before rules are evaluated
	Recorded int         `json:"recorded"` // number of series that the rules record
	Groups   []groupCost `json:"groups"`
	Rules    []ruleCost  `json:"rules"`
	Together []float64   `json:"together"` // elapsed seconds of each round that evaluates all groups at once
}

// groupCost holds the cost of a group in each round. The first rounds evaluate one group after another. For each of these
// rounds, the field CPU contains the CPU seconds of the group. The later rounds evaluate all groups at the same time. For
// each of the later rounds, the field Together contains the elapsed seconds of the group.
type groupCost struct {
	Name     string    `json:"name"`
	CPU      []float64 `json:"cpu"`
	Together []float64 `json:"together"`
}

// ruleCost contains the durations, in seconds, of the evaluations of one rule. The program evaluates all rule groups of
// the input in several rounds. In the first rounds, the program evaluates one rule group after another. In the later
// rounds, the program evaluates all rule groups at the same time. The field Seconds contains one duration for each of
// the first rounds. The field contains no durations of the later rounds.
type ruleCost struct {
	Group   string    `json:"group"`
	Name    string    `json:"name"`
	Seconds []float64 `json:"seconds"`
}

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "rulecost:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(75) // the default of Prometheus
	}
	var in input
	if err := json.NewDecoder(os.Stdin).Decode(&in); err != nil {
		return fmt.Errorf("reading the input: %w", err)
	}
	windows, err := in.lookBackByMetric()
	if err != nil {
		return err
	}
	var out output
	if out.Series, err = in.writeSeries(ctx, windows); err != nil {
		return fmt.Errorf("writing series: %w", err)
	}
	if err := in.prepare(ctx, windows); err != nil {
		return fmt.Errorf("evaluating the recording rules once: %w", err)
	}
	if err := in.measure(ctx, &out); err != nil {
		return fmt.Errorf("measuring: %w", err)
	}
	return json.NewEncoder(os.Stdout).Encode(out)
}
