package prometheus

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/trainyard/trainyard/grafana/panels"
)

// answer is what Prometheus has of a question over time.
type answer struct {
	Metric map[string]string `json:"metric"`
	Values [][2]any          `json:"values"` // when, and what as text
}

// TestAnswersForPictures writes what panels show of the recorded series over time into the file that TRAINYARD_PICTURES
// names, for `make pictures`.
func TestAnswersForPictures(t *testing.T) {
	file := os.Getenv("TRAINYARD_PICTURES")
	if file == "" {
		t.Skip("only `make pictures` needs them")
	}
	s, err := Start(t.Context(), t.TempDir(), grafana(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop() })
	answers := map[string][]answer{}
	for where, question := range questions(t) {
		var read struct{ Data struct{ Result []answer } }
		asked := url.Values{
			"query": {question}, "step": {"60"},
			"start": {fmt.Sprint(Begin.Add(10 * time.Minute).Unix())}, "end": {fmt.Sprint(End.Unix())},
		}
		if err := s.get(t.Context(), "/api/v1/query_range", asked, &read); err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		answers[where] = read.Data.Result
	}
	dashboards, err := panels.All()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{"dashboards": dashboards, "answers": answers})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
