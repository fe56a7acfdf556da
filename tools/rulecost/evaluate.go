package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunks"
)

// newEngine returns Prometheus' query engine with Prometheus' default limit of samples, and with a timeout of an hour.
func newEngine() *promql.Engine {
	return promql.NewEngine(promql.EngineOpts{
		MaxSamples: 50_000_000, Timeout: time.Hour, LookbackDelta: lookback, EnableAtModifier: true, EnableNegativeOffset: true,
	})
}

func (in input) open() (*tsdb.DB, error) {
	options := tsdb.DefaultOptions()
	options.RetentionDuration = (100 * 365 * 24 * time.Hour).Milliseconds()
	db, err := tsdb.Open(in.Dir, slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})), nil, options, nil)
	if err != nil {
		return nil, err
	}
	db.DisableCompactions()
	return db, nil
}

// prepare writes a history of each recording rule to the storage, as if Prometheus had already run for a while. prepare
// evaluates each recording rule only once, at endTime, and writes copies of the results for earlier times. The history
// is long enough for all rules that read the recorded series.
func (in input) prepare(ctx context.Context, windows map[string]time.Duration) error {
	left := map[string]string{} // the expressions of the recording rules that have no results yet, by name
	for _, g := range in.Groups {
		for _, r := range g.Rules {
			if r.Record != "" {
				left[r.Record] = r.Expr
			}
		}
	}
	for len(left) > 0 {
		var ready []string
		for name, expr := range left {
			if !slices.ContainsFunc(slices.Collect(maps.Keys(left)), func(other string) bool { return strings.Contains(expr, other) }) {
				ready = append(ready, name)
			}
		}
		if ready == nil {
			return errors.New("recording rules query each other in a circle")
		}
		if err := in.writeRecorded(ctx, ready, left, windows); err != nil {
			return err
		}
		for _, name := range ready {
			delete(left, name)
		}
	}
	return nil
}

// writeRecorded evaluates the named recording rules once, at endTime, and writes the results into a block. The block
// also contains copies of each result, with timestamps before endTime. Other rules can query past samples of a recorded
// series. The copies serve as these past samples. Each series gets enough copies for all rules that read the series.
func (in input) writeRecorded(ctx context.Context, names []string, expressions map[string]string, windows map[string]time.Duration) error {
	db, err := in.open()
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	query := rules.EngineQueryFunc(newEngine(), db)
	var all []series
	for _, name := range names {
		expression, err := parser.ParseExpr(expressions[name])
		if err != nil {
			return err
		}
		vector, err := rules.NewRecordingRule(name, expression, labels.EmptyLabels()).Eval(ctx, 0, endTime, query, nil, 0)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		history, known := int((windows[name]+lookback)/evaluationInterval)+1, map[float64][]chunks.Meta{}
		for _, sample := range vector {
			if known[sample.F] == nil {
				if known[sample.F], err = encode(slices.Repeat([]float64{sample.F}, history), evaluationInterval); err != nil {
					return err
				}
			}
			all = append(all, series{sample.Metric, known[sample.F]})
		}
	}
	return writeBlock(ctx, in.Dir, all)
}

// measure evaluates all groups of rules in two ways, several times each. In the first rounds,
// measure evaluates one group after another. In the later rounds, it evaluates all groups at the
// same time.
func (in input) measure(ctx context.Context, out *output) error {
	db, err := in.open()
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	groups, err := in.loadGroups(ctx, db)
	if err != nil {
		return err
	}
	for _, g := range groups {
		out.Groups = append(out.Groups, groupCost{Name: g.Name()})
		for _, r := range g.Rules() {
			out.Rules = append(out.Rules, ruleCost{Group: g.Name(), Name: r.Name()})
		}
	}
	at := endTime
	next := func() time.Time { at = at.Add(time.Second); return at }
	for _, g := range groups { // not measured: the first evaluation adds the recorded series to the storage's head
		g.Eval(ctx, next())
	}
	for range in.Rounds {
		for i, g := range groups {
			before := cpuSeconds()
			g.Eval(ctx, next())
			out.Groups[i].CPU = append(out.Groups[i].CPU, cpuSeconds()-before)
		}
		if err := out.add(groups); err != nil {
			return err
		}
	}
	for range in.Rounds {
		ts := next()
		out.Together = append(out.Together, measureTime(func() {
			var all sync.WaitGroup
			for i, g := range groups {
				all.Go(func() {
					out.Groups[i].Together = append(out.Groups[i].Together, measureTime(func() { g.Eval(ctx, ts) }))
				})
			}
			all.Wait()
		}))
	}
	out.Recorded = int(db.Head().NumSeries())
	return nil
}

// loadGroups converts each rule group of the input to a value of the type rules.Group. Prometheus itself uses this type
// for the rule groups of a rule file.
func (in input) loadGroups(ctx context.Context, db *tsdb.DB) ([]*rules.Group, error) {
	options := &rules.ManagerOptions{
		NameValidationScheme: model.UTF8Validation, ExternalURL: &url.URL{}, Context: ctx, Appendable: db, Queryable: db,
		QueryFunc: rules.EngineQueryFunc(newEngine(), db), NotifyFunc: func(context.Context, string, ...*rules.Alert) {},
		Logger: slog.New(slog.DiscardHandler), Metrics: rules.NewGroupMetrics(nil),
	}
	rules.NewManager(options) // fills in defaults
	var all []*rules.Group
	for _, g := range in.Groups {
		var loaded []rules.Rule
		for _, r := range g.Rules {
			expression, err := parser.ParseExpr(r.Expr)
			if err != nil {
				return nil, err
			}
			if r.Record != "" {
				loaded = append(loaded, rules.NewRecordingRule(r.Record, expression, labels.EmptyLabels()))
				continue
			}
			hold, err := model.ParseDuration(cmp.Or(r.For, "0s"))
			if err != nil {
				return nil, err
			}
			loaded = append(loaded, rules.NewAlertingRule(r.Alert, expression, time.Duration(hold), 0, labels.EmptyLabels(), labels.EmptyLabels(), labels.EmptyLabels(), "", true, options.Logger))
		}
		all = append(all, rules.NewGroup(rules.GroupOptions{Name: g.Name, File: "rules", Interval: evaluationInterval, Rules: loaded, Opts: options}))
	}
	return all, nil
}

// add appends the duration of each rule's latest evaluation to the output. add fails if the evaluation of a
// rule failed.
func (out *output) add(groups []*rules.Group) error {
	i := 0
	for _, g := range groups {
		for _, r := range g.Rules() {
			if r.LastError() != nil {
				return fmt.Errorf("%s: %w", r.Name(), r.LastError())
			}
			out.Rules[i].Seconds = append(out.Rules[i].Seconds, r.GetEvaluationDuration().Seconds())
			i++
		}
	}
	return nil
}

// measureTime returns the seconds that a function takes.
func measureTime(f func()) float64 {
	start := time.Now()
	f()
	return time.Since(start).Seconds()
}

// cpuSeconds returns the seconds of CPU that the process has used.
func cpuSeconds() float64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()).Seconds()
}
