package prometheus

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trainyard/trainyard/grafana/panels"
	"github.com/trainyard/trainyard/test/repo"
)

// result is a series that Prometheus returns for a range query.
type result struct {
	Metric map[string]string `json:"metric"`
	Values [][2]any          `json:"values"` // timestamp, and value as text
}

// TestAnswersForPictures writes the results of all panels' queries over time to a file, for `make pictures`. The
// environment variable TRAINYARD_PICTURES contains the path of the file.
func TestAnswersForPictures(t *testing.T) {
	file := os.Getenv("TRAINYARD_PICTURES")
	if file == "" {
		t.Skip("only `make pictures` needs the results")
	}
	s, err := Start(t.Context(), t.TempDir(), grafana(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop() })
	answers, from := map[string][]result{}, Begin.Add(10*time.Minute)
	var times []int64 // each minute of the range
	for at := from; !at.After(End); at = at.Add(time.Minute) {
		times = append(times, at.Unix())
	}
	for panel, query := range panelQueries(t) {
		var read struct{ Data struct{ Result []result } }
		parameters := url.Values{
			"query": {query}, "step": {"60"},
			"start": {fmt.Sprint(from.Unix())}, "end": {fmt.Sprint(End.Unix())},
		}
		if err := s.sendRequest(t.Context(), "/api/v1/query_range", parameters, &read); err != nil {
			t.Fatalf("%s: %v", panel, err)
		}
		answers[panel] = read.Data.Result
	}
	dashboards, err := panels.All()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{
		"dashboards": dashboards, "answers": answers, "times": times, "source": hashSources(t), "selected": selectedValues(dashboards),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// selectedValues returns, for each dashboard, the values of its variables in the pictures, such as "trainjob: bert".
func selectedValues(dashboards []panels.Dashboard) map[string]string {
	selected := map[string]string{}
	for _, d := range dashboards {
		var values []string
		for _, variable := range d.Variables {
			value := variableValues.Replace("$" + variable)
			if multiple := `=~"$` + variable + `"`; variableValues.Replace(multiple) != `=~"`+value+`"` && uses(d, multiple) {
				value = "team-speech, team-vision" // the namespaces of recorded.txt that variableValues selects
			}
			values = append(values, variable+": "+value)
		}
		selected[d.Name] = strings.Join(values, "    ")
	}
	return selected
}

// uses reports whether a query of the dashboard contains a text.
func uses(d panels.Dashboard, text string) bool {
	return slices.ContainsFunc(d.Panels, func(p panels.Panel) bool {
		return slices.ContainsFunc(p.Queries, func(q panels.Query) bool { return strings.Contains(q.Expr, text) })
	})
}

// hashSources returns a hash of the files from which `make pictures` draws the pictures.
func hashSources(t *testing.T) string {
	t.Helper()
	hash := sha256.New()
	for _, file := range []string{"tools/pictures/draw.py", "grafana/panels/panels.json", "test/prometheus/testdata/recorded.txt", "test/prometheus/testdata/panels.txt"} {
		text, err := os.ReadFile(repo.Path(t, file))
		if err != nil {
			t.Fatal(err)
		}
		hash.Write(text)
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// TestPicturesAreCurrent checks that docs/pictures contains a current picture of each dashboard, and no other
// picture.
func TestPicturesAreCurrent(t *testing.T) {
	dashboards, err := panels.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dashboards {
		picture, err := os.ReadFile(repo.Path(t, "docs/pictures/"+d.Name+".png"))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(picture, []byte("drawn-from\x00"+hashSources(t))) {
			t.Errorf("docs/pictures/%s.png is out of date: run `make pictures`", d.Name)
		}
	}
	pictures, err := os.ReadDir(repo.Path(t, "docs/pictures"))
	if err != nil {
		t.Fatal(err)
	}
	if len(pictures) != len(dashboards) {
		t.Errorf("got %d pictures in docs/pictures, want one for each of %d dashboards", len(pictures), len(dashboards))
	}
}
