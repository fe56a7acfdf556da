package diagnosis

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// noFailure is the code of a report whose failure is not in the catalogue, and the result if Diagnose returns no failure.
const noFailure = "Unknown"

// report is an entry of testdata/corpus.yaml: a log or a message of Kubernetes, and the expected diagnosis.
type report struct {
	Link   string   `yaml:"link"`
	Source Source   `yaml:"source"`
	Code   string   `yaml:"code"` // the failure that Diagnose must find first, or noFailure
	Also   []string `yaml:"also"` // other right answers
	Text   string   `yaml:"text"`
}

// TestCorpus measures how many reports Diagnose recognizes. The authors of the catalogue know the reports, so the result says little
// about other reports.
func TestCorpus(t *testing.T) {
	const minimumRight, maximumWrong = 0.95, 0.03
	all := readReports(t)
	count := map[outcome]int{}
	for _, r := range all {
		o, found := r.diagnose()
		count[o]++
		if o != right {
			t.Logf("%s: found %s, want %s (%s)", r.Link, found, r.Code, o)
		}
	}
	total := float64(len(all))
	t.Logf("%d texts: %d right, %d wrong, %d unknown", len(all), count[right], count[wrong], count[unknown])
	if float64(count[right]) < minimumRight*total || float64(count[wrong]) > maximumWrong*total {
		t.Errorf("want at least %.0f%% right and at most %.0f%% wrong", 100*minimumRight, 100*maximumWrong)
	}
}

// outcome is the verdict on the result of Diagnose for a report: right, wrong or unknown.
type outcome string

const (
	// right means that Diagnose returns the failure of the report first. If the failure is not in the catalogue, right means that the
	// result explains nothing, as described at unknown.
	right outcome = "right"
	// wrong means that the first failure that Diagnose returns is a cause or a general failure, but not the failure of the report.
	wrong outcome = "wrong"
	// unknown means that Diagnose returns no failure that explains the report: nothing at all, symptoms without a cause, or a Python
	// exception that is not in the catalogue. `trainyard why` then says so, and shows the exception or the end of the log.
	unknown outcome = "unknown"
)

// diagnose passes a report to Diagnose. It returns the outcome and the first code.
func (r report) diagnose() (outcome, string) {
	var texts []Text
	for _, message := range r.messages() {
		texts = append(texts, Text{Source: r.Source, Message: message})
	}
	found := Diagnose(texts)
	code := noFailure
	if len(found) > 0 {
		code = found[0].Code
	}
	isUnknown := len(found) == 0 || found[0].Level == Symptom || found[0].Traceback
	switch {
	case code == r.Code || slices.Contains(r.Also, code) || isUnknown && r.Code == noFailure:
		return right, code
	case isUnknown:
		return unknown, code
	}
	return wrong, code
}

// event matches the start of each event in the output of `kubectl describe`.
var event = regexp.MustCompile(`(?m)^\s*(Normal|Warning)\s`)

// messages divides a report into the texts for Diagnose: the whole log, or one text for each event. Like trainyard itself, it leaves out
// failed attempts to schedule a pod that was scheduled later.
func (r report) messages() []string {
	starts := event.FindAllStringIndex(r.Text, -1)
	if r.Source == Log || len(starts) == 0 {
		return []string{r.Text}
	}
	all := []string{r.Text[:starts[0][0]]}
	for i, start := range starts {
		end := len(r.Text)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		if isPlaced := strings.Contains(r.Text[end:], "Successfully assigned"); !isPlaced || !strings.Contains(r.Text[start[0]:end], "FailedScheduling") {
			all = append(all, r.Text[start[0]:end])
		}
	}
	return all
}

// readReports reads the corpus.
func readReports(t *testing.T) (all []report) {
	t.Helper()
	text, err := os.ReadFile("testdata/corpus.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return all
}
