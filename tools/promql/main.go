// Command promql reads PromQL as Prometheus does, and says what it asks for. Its input is a JSON object
// of expressions by name, its output one of what each asks for.
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

// asked is what an expression asks for: metrics, each with the labels that it matches, and the labels
// that it groups and joins by.
type asked struct {
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
	read := map[string]asked{}
	for name, text := range expressions {
		read[name] = ask(text)
	}
	return json.NewEncoder(os.Stdout).Encode(read)
}

func ask(text string) asked {
	expression, err := parser.ParseExpr(text)
	if err != nil {
		return asked{Error: err.Error()}
	}
	metrics, groups := map[string]map[string]bool{}, map[string]bool{}
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		switch n := node.(type) {
		case *parser.VectorSelector:
			matched(metrics, n)
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
	a := asked{Metrics: map[string][]string{}, Groups: slices.Sorted(maps.Keys(groups))}
	for name, used := range metrics {
		a.Metrics[name] = slices.Sorted(maps.Keys(used))
	}
	return a
}

func matched(metrics map[string]map[string]bool, selector *parser.VectorSelector) {
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
