// Command rulecost measures how long Prometheus takes to evaluate rules. It reads rule groups and series as JSON,
// writes the series into Prometheus' own storage, evaluates the groups with Prometheus' own code, and writes the times
// as JSON.
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
	Jobs    int    `json:"jobs"` // of each tenant
	Rounds  int    `json:"rounds"`
	Dir     string `json:"dir"` // an empty folder for the storage of Prometheus

	// Series in the notation of promtool, with one value for each scrape. The text {tenant} in a label stands for a
	// number that each tenant has, and {job} for a number that each TrainJob has.
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
	Series   int         `json:"series"`   // before rules are evaluated
	Recorded int         `json:"recorded"` // series that the rules record
	Groups   []groupCost `json:"groups"`
	Rules    []ruleCost  `json:"rules"`
	Together []float64   `json:"together"` // seconds from start to end of all groups at once, for each round
}

// groupCost holds the cost of a group for each round: the seconds of CPU if the group is evaluated alone, and the
// seconds from start to end if all groups are evaluated at once.
type groupCost struct {
	Name     string    `json:"name"`
	CPU      []float64 `json:"cpu"`
	Together []float64 `json:"together"`
}

// ruleCost holds the seconds from start to end of the evaluation of a rule, for each round.
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
