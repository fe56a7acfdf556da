// Command lanes lists the lanes, which are make targets that run tests, and records when each lane last passed.
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
	c := command{repository: lanes.Repository{Root: "."}, lanes: lanes.All(), output: os.Stdout}
	if err := c.run(ctx, os.Args[1:]); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "lanes:", err)
		os.Exit(1) //nolint:gocritic // the process ends, so the signal handler needs no cleanup
	}
}

// command holds the repository, the list of lanes and the output writer of the program.
type command struct {
	repository lanes.Repository
	lanes      []lanes.Lane
	output     io.Writer
}

func (c command) run(ctx context.Context, args []string) error {
	switch {
	case slices.Equal(args, []string{"list"}):
		return c.list(ctx, false)
	case slices.Equal(args, []string{"list", "-o", "json"}):
		return c.list(ctx, true)
	case slices.Equal(args, []string{"stale"}):
		return c.stale(ctx)
	case len(args) > 2 && args[0] == "run":
		return c.runLane(ctx, args[1], args[2:])
	}
	return fmt.Errorf("unknown command %q: use list, list -o json, stale, or run LANE COMMAND", args)
}

func (c command) runLane(ctx context.Context, name string, args []string) error {
	i := slices.IndexFunc(c.lanes, func(lane lanes.Lane) bool { return lane.Name == name })
	if i < 0 {
		return fmt.Errorf("unknown lane %q: test/lanes/lanes.go lists all lanes", name)
	}
	return c.repository.Run(ctx, c.lanes[i], args)
}

// row describes a lane, the last run in which the lane passed, and whether the lane is stale.
type row struct {
	Lane   string        `json:"lane"`
	Needs  string        `json:"needs"`
	Record *lanes.Record `json:"record"` // null if the lane has no record
	Stale  bool          `json:"stale"`
}

// describe returns the state of a lane, and the commit, date and duration of the last run in which the lane passed.
// Tabs separate the state, the commit, the date and the duration.
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

func (c command) readRows(ctx context.Context) ([]row, error) {
	records, err := c.repository.Records()
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, lane := range c.lanes {
		this := row{Lane: lane.Name, Needs: lane.Needs}
		record, known := records[lane.Name]
		if known {
			this.Record = &record
		}
		if this.Stale, err = c.repository.IsStale(ctx, lane, record); err != nil {
			return nil, err
		}
		rows = append(rows, this)
	}
	return rows, nil
}

func (c command) list(ctx context.Context, asJSON bool) error {
	rows, err := c.readRows(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		encoder := json.NewEncoder(c.output)
		encoder.SetIndent("", "  ")
		return encoder.Encode(rows)
	}
	table := tabwriter.NewWriter(c.output, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "LANE\tSTATE\tPASSED AT\tDATE\tMINUTES\tNEEDS") // Flush returns the error
	for _, this := range rows {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\n", this.Lane, this.describe(), this.Needs)
	}
	return table.Flush()
}

func (c command) stale(ctx context.Context) error {
	rows, err := c.readRows(ctx)
	if err != nil {
		return err
	}
	for _, this := range rows {
		if this.Stale {
			_, _ = fmt.Fprintln(c.output, this.Lane)
		}
	}
	return nil
}
