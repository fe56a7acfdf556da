package prometheus

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/trainyard/trainyard/grafana/panels"
	"github.com/trainyard/trainyard/test/grafanadata"
)

// variableValues replaces dashboard variables by values that a user could select.
var variableValues = strings.NewReplacer(`=~"$namespace"`, `=~"team-.+"`, "$__rate_interval", "5m", "$namespace", "team-vision", "$trainjob", "bert", "$cluster_queue", "research")

// panelQueries returns a map with the queries of all panels. The keys of the map have the form
// DASHBOARD/ROW/PANEL/INDEX. INDEX is the position of the query in its panel.
func panelQueries(t *testing.T) map[string]string {
	t.Helper()
	dashboards, err := panels.All()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, d := range dashboards {
		for _, p := range d.Panels {
			for i, q := range p.Queries {
				query := q.Expr
				if p.Interval != "" {
					query = strings.ReplaceAll(query, "$__rate_interval", p.Interval)
				}
				all[fmt.Sprintf("%s/%s/%d", d.Name, p.Key, i)] = variableValues.Replace(query)
			}
		}
	}
	if len(all) < 50 {
		t.Fatalf("found %d queries, want at least 50", len(all))
	}
	return all
}

func TestPanelsQueryKnownMetrics(t *testing.T) {
	expectKnown(t, grafana(t), panelQueries(t))
}

// waitingPanels contains the keys of the panel queries that need a waiting TrainJob (see panelQueries). The value of
// each entry is the name of the waiting TrainJob. In all other queries about one TrainJob, the test uses the TrainJob
// "bert". The TrainJob "bert" is running, so it has no queue position and no unscheduled pods.
var waitingPanels = map[string]string{"trainjob/now/queue/0": "resnet", "trainjob/pods/list/0": "llama"}

// expectPanels compares the results of the panels' queries with the golden file testdata/panels.txt, which contains
// earlier results.
func expectPanels(t *testing.T, s *Server) {
	t.Helper()
	var text strings.Builder
	all := panelQueries(t)
	for _, name := range grafanadata.Sorted(all) {
		query := all[name]
		if trainjob := waitingPanels[name]; trainjob != "" {
			query = strings.ReplaceAll(query, `"bert"`, `"`+trainjob+`"`)
		}
		samples, err := s.Query(t.Context(), query)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(samples) == 0 {
			t.Errorf("%s returns no recorded series: %s", name, query)
		}
		var lines []string
		for _, sample := range samples {
			lines = append(lines, formatSample(name, sample, t))
		}
		slices.Sort(lines)
		text.WriteString(strings.Join(lines, ""))
	}
	expectFile(t, "testdata/panels.txt", text.String())
}
