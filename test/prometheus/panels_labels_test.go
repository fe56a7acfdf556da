package prometheus

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/trainyard/trainyard/grafana/panels"
)

// ownSeries are those of trainyard's controller, as a Prometheus has them that honors labels.
var ownSeries = regexp.MustCompile(`(?m)^(trainyard_.*[{ ])namespace="`)

// notHonored has the controller's series as a Prometheus has them that keeps namespace for where it fetched them.
func notHonored(series string) string {
	return ownSeries.ReplaceAllString(series, `${1}namespace="trainyard-system", exported_namespace="`)
}

// TestPanelsDoNotCareHowLabelsArrive: a Prometheus that honors no labels shows the same in all panels, and each
// series has the labels that the panel's legend or columns name.
func TestPanelsDoNotCareHowLabelsArrive(t *testing.T) {
	before := recorded
	t.Cleanup(func() { recorded = before })
	if recorded = notHonored(before); strings.Count(recorded, "exported_namespace") < strings.Count(before, "exported_namespace")+40 {
		t.Fatal("the controller's series are as they were")
	}
	s, err := Start(t.Context(), t.TempDir(), grafana(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop() })
	expectAnswers(t, s)
	s.expectNamedLabels(t)
}

// legendLabel is a label that a legend names.
var legendLabel = regexp.MustCompile(`{{([^}]*)}}`)

// expectNamedLabels holds series against what their panels say of them.
func (s *Server) expectNamedLabels(t *testing.T) {
	t.Helper()
	dashboards, err := panels.All()
	if err != nil {
		t.Fatal(err)
	}
	all := questions(t)
	for _, d := range dashboards {
		for _, p := range d.Panels {
			for i, q := range p.Queries {
				labels := map[string]bool{}
				for _, column := range p.Columns {
					labels[column.Label] = true
				}
				for _, match := range legendLabel.FindAllStringSubmatch(q.Legend, -1) {
					labels[match[1]] = true
				}
				s.expectNamed(t, all[fmt.Sprintf("%s/%s/%d", d.Name, p.Key, i)], labels)
			}
		}
	}
}

func (s *Server) expectNamed(t *testing.T, question string, labels map[string]bool) {
	t.Helper()
	samples, err := s.Query(t.Context(), question)
	if err != nil {
		t.Fatal(err)
	}
	for _, sample := range samples {
		for label := range labels {
			if sample.Metric[label] == "" {
				t.Errorf("%s: a series has no %s, which the panel names: %v", question, label, sample.Metric)
			}
		}
	}
}
