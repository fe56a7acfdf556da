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

	"github.com/trainyard/trainyard/test/grafanadata"
)

// TestRulesOnAServer evaluates all rules and panels on a Prometheus server with the recorded series. The results of rules
// must match testdata/computed.txt, and the results of panels must match testdata/panels.txt. The files computed.txt and
// panels.txt are golden files: they contain earlier results, not values worked out by hand. With TRAINYARD_UPDATE=1, the
// test writes the results to computed.txt and panels.txt.
func TestRulesOnAServer(t *testing.T) {
	g := grafana(t)
	s, err := Start(t.Context(), t.TempDir(), g)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop() })
	s.expectHealthy(t, g)
	var b strings.Builder
	for _, name := range grafanadata.Sorted(g.Records) {
		samples, err := s.Query(t.Context(), name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(samples) == 0 {
			t.Errorf("%s has no results for the recorded series", name)
		}
		var lines []string
		for _, sample := range samples {
			lines = append(lines, formatSample(name, sample, t))
			expectLabels(t, name, sample, g.Records[name].Labels)
		}
		slices.Sort(lines)
		b.WriteString(strings.Join(lines, ""))
	}
	expectFile(t, filepath.Join("testdata", "computed.txt"), b.String())
	expectPanels(t, s)
}

func formatSample(name string, sample Sample, t *testing.T) string {
	t.Helper()
	var words []string
	for _, label := range grafanadata.Sorted(sample.Metric) {
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
	// Prometheus adds floats in a varying order, so the last digits of a sum vary. The value is therefore rounded.
	return fmt.Sprintf("%s{%s} %.10g\n", name, strings.Join(words, ", "), value)
}

func expectLabels(t *testing.T, name string, sample Sample, allowed []string) {
	t.Helper()
	for label := range sample.Metric {
		if label != "__name__" && !slices.Contains(allowed, label) {
			t.Errorf("%s has the undeclared label %s", name, label)
		}
	}
}

func (s *Server) expectHealthy(t *testing.T, g grafanadata.Grafana) {
	t.Helper()
	var response struct {
		Data struct {
			Groups []struct {
				Rules []struct{ Name, LastError string }
			}
		}
	}
	if err := s.sendRequest(t.Context(), "/api/v1/rules", nil, &response); err != nil {
		t.Fatal(err)
	}
	loaded := 0
	for _, group := range response.Data.Groups {
		for _, rule := range group.Rules {
			loaded++
			if rule.LastError != "" {
				t.Errorf("%s: %s", rule.Name, rule.LastError)
			}
		}
	}
	if want := len(g.Records) + len(g.Alerts); loaded != want {
		t.Errorf("loaded %d rules, want %d", loaded, want)
	}
}

// expectFile compares a text with a golden file of earlier results, or writes the file if TRAINYARD_UPDATE=1 is
// set.
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
		t.Errorf("results differ: -%s +Prometheus:\n%s\nif the change is right, run the test with TRAINYARD_UPDATE=1", file, diff)
	}
}
