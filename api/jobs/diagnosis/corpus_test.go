package diagnosis

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"go.yaml.in/yaml/v3"
)

// unknown is the code of texts that show a failure which the catalogue does not contain.
const unknown = "Unknown"

// report is a text of testdata/corpus.yaml.
type report struct {
	Link   string   `yaml:"link"`
	Source Source   `yaml:"source"`
	Code   string   `yaml:"code"` // the failure that Diagnose must find first, or unknown
	Also   []string `yaml:"also"` // other right answers
	Text   string   `yaml:"text"`
}

// TestCorpus checks which part of the texts Diagnose recognizes. A text is right if its failure is found first, and wrong if another
// failure is found first. For all other texts, Diagnose finds nothing. The authors of the catalogue know the texts, so the result
// says little about other texts.
func TestCorpus(t *testing.T) {
	const minimumRight, maximumWrong = 0.95, 0.03
	all := readReports(t)
	right, wrong := 0, 0
	for _, r := range all {
		got := first(r)
		if got == r.Code || slices.Contains(r.Also, got) {
			right++
			continue
		}
		t.Logf("%s: found %s, want %s", r.Link, got, r.Code)
		if got != unknown {
			wrong++
		}
	}
	count := float64(len(all))
	t.Logf("%d texts: %d right, %d wrong", len(all), right, wrong)
	if float64(right) < minimumRight*count || float64(wrong) > maximumWrong*count {
		t.Errorf("want at least %.0f%% right and at most %.0f%% wrong", 100*minimumRight, 100*maximumWrong)
	}
}

// first returns the code of the first failure that Diagnose finds, or unknown.
func first(r report) string {
	var texts []Text
	for _, message := range r.messages() {
		texts = append(texts, Text{Source: r.Source, Message: message})
	}
	if found := Diagnose(texts); len(found) > 0 {
		return found[0].Code
	}
	return unknown
}

// event matches the beginning of an event in a list of events, as kubectl prints it.
var event = regexp.MustCompile(`(?m)^\s*(Normal|Warning)\s`)

// messages returns the log, or each event of a list of events. trainyard also passes one event after the other to Diagnose.
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
		all = append(all, r.Text[start[0]:end])
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
