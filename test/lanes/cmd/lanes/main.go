// Command lanes lists the lanes of tests, and records the results of runs.
//
//	lanes list [-o json]    list all lanes with their last results
//	lanes stale             print the lanes whose inputs have changed since they last passed
//	lanes run LANE COMMAND  run the command of a lane, and record the result if it passes
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"text/tabwriter"

	"github.com/trainyard/trainyard/test/lanes"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, os.Args[1:]); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "lanes:", err)
		os.Exit(1) //nolint:gocritic // the process ends, so the signal handler needs no cleanup
	}
}

func run(ctx context.Context, w io.Writer, args []string) error {
	repository := lanes.Repository{Root: "."}
	switch {
	case slices.Equal(args, []string{"list"}):
		return list(ctx, w, repository, false)
	case slices.Equal(args, []string{"list", "-o", "json"}):
		return list(ctx, w, repository, true)
	case slices.Equal(args, []string{"stale"}):
		return stale(ctx, w, repository)
	case len(args) > 2 && args[0] == "run":
		return runLane(ctx, repository, args[1], args[2:])
	}
	return fmt.Errorf("unknown command %q: use list, list -o json, stale, or run LANE COMMAND", args)
}

func runLane(ctx context.Context, r lanes.Repository, name string, command []string) error {
	all := lanes.All()
	i := slices.IndexFunc(all, func(lane lanes.Lane) bool { return lane.Name == name })
	if i < 0 {
		return fmt.Errorf("unknown lane %q: test/lanes/lanes.go lists all lanes", name)
	}
	return r.Run(ctx, all[i], command)
}

// row is a lane with its last result.
type row struct {
	Lane   string        `json:"lane"`
	Needs  string        `json:"needs"`
	Record *lanes.Record `json:"record"` // null if the lane has no record
	Stale  bool          `json:"stale"`
}

// describe returns the state of a lane, and the commit, date and duration of its last run, separated by tabs.
func (r row) describe() string {
	if r.Record == nil {
		return "never passed\t\t\t"
	}
	state := "fresh"
	if r.Stale {
		state = "stale"
	}
	return fmt.Sprintf("%s\t%s\t%s\t%.1f", state, r.Record.Commit, r.Record.Date, float64(r.Record.Seconds)/60)
}

func readRows(ctx context.Context, r lanes.Repository) ([]row, error) {
	records, err := r.Records()
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, lane := range lanes.All() {
		this := row{Lane: lane.Name, Needs: lane.Needs}
		record, known := records[lane.Name]
		if known {
			this.Record = &record
		}
		if this.Stale, err = r.IsStale(ctx, lane, record); err != nil {
			return nil, err
		}
		rows = append(rows, this)
	}
	return rows, nil
}

func list(ctx context.Context, w io.Writer, r lanes.Repository, asJSON bool) error {
	rows, err := readRows(ctx, r)
	if err != nil {
		return err
	}
	if asJSON {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(rows)
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "LANE\tSTATE\tPASSED AT\tDATE\tMINUTES\tNEEDS") // Flush returns the error
	for _, this := range rows {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\n", this.Lane, this.describe(), this.Needs)
	}
	return table.Flush()
}

func stale(ctx context.Context, w io.Writer, r lanes.Repository) error {
	rows, err := readRows(ctx, r)
	if err != nil {
		return err
	}
	for _, this := range rows {
		if this.Stale {
			_, _ = fmt.Fprintln(w, this.Lane)
		}
	}
	return nil
}
