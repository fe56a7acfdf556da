package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// The scrape interval is the default of kube-prometheus-stack. The evaluation interval of rules is the default of
// prometheus-operator. Prometheus looks back five minutes for the last value of a series.
const (
	scrapeInterval     = 30 * time.Second
	evaluationInterval = 30 * time.Second
	lookback           = 5 * time.Minute
)

// endTime is the time at which the series end.
var endTime = time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)

// lookBackByMetric returns a duration for each metric that the rules read. Rules read metrics with selectors. For
// example, the expression rate(x[5m] offset 1h) contains the selector x. lookBackByMetric computes one sum for each
// selector: it adds up the ranges and offsets that apply to the selector. In the example, the sum is 5 minutes plus 1
// hour. If several selectors read the same metric, the duration for this metric is the largest sum. The duration does
// not include the constant "lookback".
func (in input) lookBackByMetric() (map[string]time.Duration, error) {
	all := map[string]time.Duration{}
	for _, g := range in.Groups {
		for _, r := range g.Rules {
			expression, err := parser.ParseExpr(r.Expr)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", r.name(), err)
			}
			parser.Inspect(expression, func(node parser.Node, above []parser.Node) error {
				if s, ok := node.(*parser.VectorSelector); ok {
					all[s.Name] = max(all[s.Name], s.OriginalOffset+lookBack(above))
				}
				return nil
			})
		}
	}
	return all, nil
}

// lookBack computes a duration for one selector, such as the selector x in rate(x[5m]). The argument "above" lists the
// expressions that contain this selector. In the example, these expressions are rate(x[5m]) and x[5m]. lookBack adds up
// the ranges and offsets of the listed expressions. In the example, only x[5m] has a range. This range is five minutes,
// so the result is five minutes. The result does not include the selector's own offset, which the caller adds.
func lookBack(above []parser.Node) (back time.Duration) {
	for _, node := range above {
		switch a := node.(type) {
		case *parser.MatrixSelector:
			back += a.Range
		case *parser.SubqueryExpr:
			back += a.Range + a.OriginalOffset
		}
	}
	return back
}

// writeSeries writes the series into a block, and returns the number of series. writeSeries does not use Prometheus'
// head, the part of the storage with the latest samples. For each series, the head needs more memory than a block
// needs.
func (in input) writeSeries(ctx context.Context, windows map[string]time.Duration) (int, error) {
	var all []series
	for _, part := range []struct {
		lines         []string
		tenants, jobs int
	}{{in.PerJob, in.Tenants, in.Jobs}, {in.PerTenant, in.Tenants, 1}, {in.Once, 1, 1}} {
		for _, line := range part.lines {
			copies, err := multiply(line, part.tenants, part.jobs, windows)
			if err != nil {
				return 0, fmt.Errorf("%s: %w", line, err)
			}
			all = append(all, copies...)
		}
	}
	return len(all), writeBlock(ctx, in.Dir, all)
}

// multiply reads a line in promtool's notation, and returns one series for each job of each tenant. All returned series
// have the same values. If no rule reads the metric in the line, multiply returns no series.
func multiply(line string, tenants, jobs int, windows map[string]time.Duration) ([]series, error) {
	name, _, _ := strings.Cut(line, "{")
	window, used := windows[name]
	if !used {
		return nil, nil
	}
	lset, values, err := parser.ParseSeriesDesc(line)
	if err != nil {
		return nil, err
	}
	chunks, err := encode(extend(values, int((window+lookback)/scrapeInterval)+1), scrapeInterval)
	if err != nil {
		return nil, err
	}
	all := make([]series, 0, tenants*jobs)
	builder := labels.NewScratchBuilder(lset.Len())
	for tenant := range tenants {
		for job := range jobs {
			fill := strings.NewReplacer("{tenant}", fmt.Sprintf("%03d", tenant), "{job}", fmt.Sprintf("%03d-%04d", tenant, job))
			builder.Reset()
			lset.Range(func(l labels.Label) { builder.Add(l.Name, fill.Replace(l.Value)) })
			all = append(all, series{builder.Labels(), chunks})
		}
	}
	return all, nil
}

// extend returns the requested number of values. If more values are given, extend returns the last values. If fewer
// values are given, extend adds values at the beginning. The added values are copies of the first value, or zeros if
// only one value is given.
func extend(values []parser.SequenceValue, number int) []float64 {
	all := make([]float64, number)
	for i := range all {
		at := len(values) - number + i
		switch {
		case at >= 0:
			all[i] = values[at].Value
		case len(values) > 1:
			all[i] = values[0].Value
		}
	}
	return all
}
