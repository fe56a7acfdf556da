package prometheus

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"reflect"
	"regexp"
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

// TestAnswersForPictures evaluates all panels' queries over the time range that the pictures show, and writes the
// results to a file for `make pictures`.
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
	d, answers := readDrawing(t), map[string][]result{}
	for panel, query := range d.Queries {
		var read struct{ Data struct{ Result []result } }
		parameters := url.Values{
			"query": {query}, "step": {"60"},
			"start": {fmt.Sprint(d.Times[0])}, "end": {fmt.Sprint(d.Times[len(d.Times)-1])},
		}
		if err := s.sendRequest(t.Context(), "/api/v1/query_range", parameters, &read); err != nil {
			t.Fatalf("%s: %v", panel, err)
		}
		answers[panel] = read.Data.Result
	}
	text, err := json.Marshal(map[string]any{
		"dashboards": d.Dashboards, "answers": answers, "times": d.Times, "source": d.hash(t), "selected": d.Selected,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// drawing holds all inputs from which `make pictures` draws the pictures of the dashboards.
type drawing struct {
	Dashboards []panels.Dashboard
	Selected   map[string]string // the line under the title of each dashboard
	Queries    map[string]string // the queries of panels, with the selected values
	Times      []int64           // each minute of the time range
	Rules      map[string]string // the expressions of recording rules
	Files      map[string]string // the texts of the program that draws, its requirements, and the recorded series
}

func readDrawing(t *testing.T) drawing {
	t.Helper()
	dashboards, err := panels.All()
	if err != nil {
		t.Fatal(err)
	}
	d := drawing{
		Dashboards: dashboards, Selected: selectedValues(dashboards), Queries: panelQueries(t),
		Rules: map[string]string{}, Files: map[string]string{},
	}
	for at := Begin.Add(10 * time.Minute); !at.After(End); at = at.Add(time.Minute) {
		d.Times = append(d.Times, at.Unix())
	}
	for name, r := range grafana(t).Records {
		d.Rules[name] = r.Expr
	}
	for _, file := range []string{"tools/pictures/draw.py", "tools/pictures/requirements.txt", "test/prometheus/testdata/recorded.txt"} {
		text, err := os.ReadFile(repo.Path(t, file))
		if err != nil {
			t.Fatal(err)
		}
		d.Files[file] = string(text)
	}
	return d
}

// hash returns a hash of the inputs. Each picture contains the hash of the inputs from which it was drawn.
func (d drawing) hash(t *testing.T) string {
	t.Helper()
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// selectedValues returns a line of text for each dashboard, keyed by the name of the dashboard. In the picture of the
// dashboard, this line is under the title. The line contains the value of each variable of the dashboard, such as
// "trainjob: bert".
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

func uses(d panels.Dashboard, text string) bool {
	return slices.ContainsFunc(d.Panels, func(p panels.Panel) bool {
		return slices.ContainsFunc(p.Queries, func(q panels.Query) bool { return strings.Contains(q.Expr, text) })
	})
}

// TestPicturesBecomeOutOfDate removes the inputs of the pictures one by one, and checks that the hash of the inputs
// changes each time. TestPicturesAreCurrent uses this hash to find pictures that are out of date. If the hash did not
// depend on an input, TestPicturesAreCurrent would not notice a change of this input.
func TestPicturesBecomeOutOfDate(t *testing.T) {
	d := readDrawing(t)
	for i := range reflect.TypeFor[drawing]().NumField() {
		changed := d
		field := reflect.ValueOf(&changed).Elem().Field(i)
		name := reflect.TypeFor[drawing]().Field(i).Name
		if field.Len() == 0 {
			t.Errorf("%s is empty", name)
		}
		if field.SetZero(); changed.hash(t) == d.hash(t) {
			t.Errorf("%s: a change does not make the pictures out of date", name)
		}
	}
}

func TestPicturesAreCurrent(t *testing.T) {
	inputs := readDrawing(t)
	dashboards, hash := inputs.Dashboards, inputs.hash(t)
	for _, d := range dashboards {
		picture, err := os.ReadFile(repo.Path(t, "docs/pictures/"+d.Name+".png"))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(picture, []byte("drawn-from\x00"+hash)) {
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

func TestCaptionsNameAllTrainJobs(t *testing.T) {
	page, err := os.ReadFile(repo.Path(t, "docs/dashboards.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, captions, found := strings.Cut(string(page), "## What they show")
	captions, _, _ = strings.Cut(captions, "## ")
	trainjobs := regexp.MustCompile(`pod="([a-z-]+)-launcher-`).FindAllStringSubmatch(recordedSeries, -1)
	if !found || len(trainjobs) == 0 {
		t.Fatal("found no captions or no TrainJobs")
	}
	for _, match := range append(trainjobs, regexp.MustCompile(`trainjob="([^"]*)"`).FindAllStringSubmatch(recordedSeries, -1)...) {
		if !strings.Contains(captions, "`"+match[1]+"`") {
			t.Errorf("docs/dashboards.md does not explain the TrainJob %s", match[1])
		}
	}
}
