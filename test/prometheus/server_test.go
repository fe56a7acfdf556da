package prometheus

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/test/observed"
)

// TestRulesOnAServer: a Prometheus takes all rules, and makes of recorded series what testdata/computed.txt says, which
// TRAINYARD_UPDATE=1 writes, and panels show what panels.txt says. No rule makes nothing, and none makes labels that it does not say it has.
func TestRulesOnAServer(t *testing.T) {
	g := grafana(t)
	s, err := Start(t.Context(), t.TempDir(), g)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop() })
	s.expectHealthy(t, g)
	var b strings.Builder
	for _, name := range observed.Sorted(g.Records) {
		samples, err := s.Query(t.Context(), name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(samples) == 0 {
			t.Errorf("%s makes nothing of the recorded series", name)
		}
		var lines []string
		for _, sample := range samples {
			lines = append(lines, line(name, sample, t))
			expectLabels(t, name, sample, g.Records[name].Labels)
		}
		slices.Sort(lines)
		b.WriteString(strings.Join(lines, ""))
	}
	expectFile(t, filepath.Join("testdata", "computed.txt"), b.String())
	expectAnswers(t, s)
}

// line is a sample as a person reads it.
func line(name string, sample Sample, t *testing.T) string {
	t.Helper()
	var words []string
	for _, label := range observed.Sorted(sample.Metric) {
		if label == "__name__" {
			continue
		}
		words = append(words, fmt.Sprintf("%s=%q", label, sample.Metric[label]))
	}
	text, _ := sample.Value[1].(string)
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
	// Sums come out in another order each time: their last digits say nothing.
	return fmt.Sprintf("%s{%s} %.10g\n", name, strings.Join(words, ", "), value)
}

// expectLabels: a sample has no labels but some.
func expectLabels(t *testing.T, name string, sample Sample, some []string) {
	t.Helper()
	for label := range sample.Metric {
		if label != "__name__" && !slices.Contains(some, label) {
			t.Errorf("%s has the label %s, which it does not say", name, label)
		}
	}
}

// expectHealthy: the server has loaded all rules.
func (s *Server) expectHealthy(t *testing.T, g observed.Grafana) {
	t.Helper()
	var answer struct {
		Data struct {
			Groups []struct {
				Rules []struct{ Name, LastError string }
			}
		}
	}
	if err := s.get(t.Context(), "/api/v1/rules", nil, &answer); err != nil {
		t.Fatal(err)
	}
	loaded := 0
	for _, group := range answer.Data.Groups {
		for _, rule := range group.Rules {
			loaded++
			if rule.LastError != "" {
				t.Errorf("%s: %s", rule.Name, rule.LastError)
			}
		}
	}
	if want := len(g.Records) + len(g.Alerts); loaded != want {
		t.Errorf("%d rules are loaded, want %d", loaded, want)
	}
}

// expectFile holds text against a file; TRAINYARD_UPDATE=1 writes it.
func expectFile(t *testing.T, file, text string) {
	t.Helper()
	if os.Getenv("TRAINYARD_UPDATE") != "" {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("run with TRAINYARD_UPDATE=1 and review: -%s +Prometheus:\n%s", file, diff)
	}
}
