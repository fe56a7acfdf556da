package prometheus

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/trainyard/trainyard/grafana/panels"
	"github.com/trainyard/trainyard/test/observed"
)

// chosen are what somebody who looks at dashboards has chosen.
var chosen = strings.NewReplacer(`=~"$namespace"`, `=~"team-.+"`, "$__rate_interval", "5m", "$namespace", "team-vision", "$trainjob", "bert", "$cluster_queue", "research")

// questions are all that panels ask, by dashboard and panel.
func questions(t *testing.T) map[string]string {
	t.Helper()
	dashboards, err := panels.All()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, d := range dashboards {
		for _, p := range d.Panels {
			for i, q := range p.Queries {
				question := q.Expr
				if p.Interval != "" {
					question = strings.ReplaceAll(question, "$__rate_interval", p.Interval)
				}
				all[fmt.Sprintf("%s/%s/%d", d.Name, p.Key, i)] = chosen.Replace(question)
			}
		}
	}
	if len(all) < 50 {
		t.Fatalf("only %d questions", len(all))
	}
	return all
}

// TestPanelsAskForWhatIsEmitted: no panel stays empty because nobody has what it asks for.
func TestPanelsAskForWhatIsEmitted(t *testing.T) {
	expectEmitted(t, grafana(t), questions(t))
}

// waiting are questions about a TrainJob that waits, by panel: one that runs has no place in a queue, and places for all of its pods.
var waiting = map[string]string{"trainjob/now/queue/0": "resnet", "trainjob/pods/list/0": "llama"}

// expectAnswers holds what panels show of recorded series against testdata/panels.txt.
func expectAnswers(t *testing.T, s *Server) {
	t.Helper()
	var text strings.Builder
	all := questions(t)
	for _, name := range observed.Sorted(all) {
		question := all[name]
		if trainjob := waiting[name]; trainjob != "" {
			question = strings.ReplaceAll(question, `"bert"`, `"`+trainjob+`"`)
		}
		samples, err := s.Query(t.Context(), question)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(samples) == 0 {
			t.Errorf("%s shows nothing of the recorded series: %s", name, question)
		}
		var lines []string
		for _, sample := range samples {
			lines = append(lines, line(name, sample, t))
		}
		slices.Sort(lines)
		text.WriteString(strings.Join(lines, ""))
	}
	expectFile(t, "testdata/panels.txt", text.String())
}
