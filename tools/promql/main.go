// Command promql parses PromQL with Prometheus' own parser. The command reads a JSON object that maps names to
// expressions, and writes a JSON object with the metrics and labels of each expression.
package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// references holds the names in an expression. The field Metrics maps each metric to the labels in its selectors.
// The field Groups lists the labels that the expression uses to group or join series.
type references struct {
	Metrics map[string][]string `json:"metrics,omitempty"`
	Groups  []string            `json:"groups,omitempty"`
	Error   string              `json:"error,omitempty"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "promql:", err)
		os.Exit(1)
	}
}

func run() error {
	var expressions map[string]string
	if err := json.NewDecoder(os.Stdin).Decode(&expressions); err != nil {
		return fmt.Errorf("reading expressions: %w", err)
	}
	result := map[string]references{}
	for name, text := range expressions {
		result[name] = parse(text)
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}

func parse(text string) references {
	expression, err := parser.ParseExpr(text)
	if err != nil {
		return references{Error: err.Error()}
	}
	metrics, groups := map[string]map[string]bool{}, map[string]bool{}
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		switch n := node.(type) {
		case *parser.VectorSelector:
			addSelector(metrics, n)
		case *parser.AggregateExpr:
			for _, label := range n.Grouping {
				groups[label] = true
			}
		case *parser.BinaryExpr:
			if n.VectorMatching != nil {
				for _, label := range slices.Concat(n.VectorMatching.MatchingLabels, n.VectorMatching.Include) {
					groups[label] = true
				}
			}
		}
		return nil
	})
	r := references{Metrics: map[string][]string{}, Groups: slices.Sorted(maps.Keys(groups))}
	for name, used := range metrics {
		r.Metrics[name] = slices.Sorted(maps.Keys(used))
	}
	return r
}

// addSelector adds the metric of a selector, together with the labels in the selector.
func addSelector(metrics map[string]map[string]bool, selector *parser.VectorSelector) {
	name, used := selector.Name, map[string]bool{}
	for _, m := range selector.LabelMatchers {
		if m.Name != labels.MetricName {
			used[m.Name] = true
		} else if m.Type == labels.MatchEqual {
			name = m.Value
		}
	}
	if metrics[name] == nil {
		metrics[name] = used
	}
	maps.Copy(metrics[name], used)
}
