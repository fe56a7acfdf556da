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
				all[fmt.Sprintf("%s/%s/%d", d.Name, p.Key, i)] = chosen.Replace(q.Expr)
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

// waiting are questions about a TrainJob that waits: one that runs has no place in a queue.
var waiting = []string{"trainjob/now/queue/0"}

// expectAnswers holds what panels show of recorded series against testdata/panels.txt.
func expectAnswers(t *testing.T, s *Server) {
	t.Helper()
	var text strings.Builder
	all := questions(t)
	for _, name := range observed.Sorted(all) {
		question := all[name]
		if slices.Contains(waiting, name) {
			question = strings.ReplaceAll(question, `"bert"`, `"resnet"`)
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
