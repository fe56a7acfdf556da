package diagnosis

import (
	"crypto/sha256"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// unknown is the code that stands for a failure that is not in the catalogue.
const unknown = "Unknown"

// report is an entry of testdata/corpus.yaml or testdata/sealed.yaml: a log or a message of Kubernetes, and the expected diagnosis.
type report struct {
	Link   string   `yaml:"link"`
	Source Source   `yaml:"source"`
	Code   string   `yaml:"code"` // the failure that Diagnose must find first, or unknown
	Also   []string `yaml:"also"` // other right answers
	Text   string   `yaml:"text"`
}

// TestCorpus checks the answers of Diagnose for the reports in testdata/corpus.yaml. The authors of the catalogue know
// these reports, so the result says little about reports that they do not know.
func TestCorpus(t *testing.T) {
	all := readReports(t, "testdata/corpus.yaml")
	for _, r := range measure(t, all, 0.95, 0.03) {
		t.Logf("%s: found %s, want %s", r.Link, first(r).Code, r.Code)
	}
}

// TestSealedCorpus checks the answers of Diagnose for reports that the authors of the catalogue have not read.
func TestSealedCorpus(t *testing.T) {
	const digest = "55f0954041c4e516f278abb3f04a5466351010cb4999018f414d4ae7cc81b2db"
	text, err := os.ReadFile("testdata/sealed.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%x", sha256.Sum256(text)); got != digest {
		t.Errorf("the digest of testdata/sealed.yaml is %s, want %s", got, digest)
	}
	measure(t, readReports(t, "testdata/sealed.yaml"), 0.85, 0.03)
}

// measure fails the test if too few answers of Diagnose are right, or if too many answers are wrong. measure returns
// the reports for which Diagnose gives no right answer. Diagnose can return several failures for a report, but only the
// first failure counts as the answer:
//   - The answer is right if it is the failure of the report.
//   - Another cause or general failure is wrong.
//   - Another symptom, or no failure at all, means that the cause is unknown. `trainyard why` then says so, and prints
//     the end of the log. This is right only if the failure of the report is not in the catalogue.
func measure(t *testing.T, all []report, minimumRight, maximumWrong float64) (others []report) {
	t.Helper()
	right, wrong := 0, 0
	for _, r := range all {
		found := first(r)
		isUnknown := found.Code == unknown || found.Level == Symptom
		switch {
		case r.accepts(found.Code), isUnknown && r.accepts(unknown):
			right++
			continue
		case !isUnknown:
			wrong++
		}
		others = append(others, r)
	}
	count := float64(len(all))
	t.Logf("%d texts: %d right, %d wrong", len(all), right, wrong)
	if float64(right) < minimumRight*count || float64(wrong) > maximumWrong*count {
		t.Errorf("want at least %.0f%% right and at most %.0f%% wrong", 100*minimumRight, 100*maximumWrong)
	}
	return others
}

func (r report) accepts(code string) bool { return code == r.Code || slices.Contains(r.Also, code) }

// first(r) calls Diagnose for the report r, and returns the first failure of the result. If Diagnose finds no failure,
// first(r) returns a failure with the code "Unknown".
func first(r report) Failure {
	var texts []Text
	for _, message := range r.messages() {
		texts = append(texts, Text{Source: r.Source, Message: message})
	}
	if found := Diagnose(texts); len(found) > 0 {
		return found[0].Failure
	}
	return Failure{Code: unknown}
}

// event matches the start of each event in the output of `kubectl describe`.
var event = regexp.MustCompile(`(?m)^\s*(Normal|Warning)\s`)

// messages splits a report into texts, which are the input of Diagnose. A log is one text, and a report without events
// is also one text. In all other reports, each event becomes one text, and the part before the first event becomes one
// text. If a pod was scheduled after a FailedScheduling event, the result omits this event. The reason is that the
// package "jobs" also omits such events.
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

func readReports(t *testing.T, file string) (all []report) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return all
}
