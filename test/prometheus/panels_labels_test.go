package prometheus

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/trainyard/trainyard/grafana/panels"
)

// ownSeries matches series of trainyard's controller that Prometheus scraped with the setting honorLabels.
var ownSeries = regexp.MustCompile(`(?m)^(trainyard_.*[{ ])namespace="`)

// notHonored renames the label "namespace" of the controller's series, as Prometheus does if it scrapes without honorLabels.
func notHonored(series string) string {
	return ownSeries.ReplaceAllString(series, `${1}namespace="trainyard-system", exported_namespace="`)
}

// TestPanelsWithoutHonoredLabels checks that panels show the same data if Prometheus scrapes without honorLabels.
func TestPanelsWithoutHonoredLabels(t *testing.T) {
	before := recordedSeries
	t.Cleanup(func() { recordedSeries = before })
	if recordedSeries = notHonored(before); strings.Count(recordedSeries, "exported_namespace") < strings.Count(before, "exported_namespace")+40 {
		t.Fatal("the labels of the controller's series are not renamed")
	}
	s, err := Start(t.Context(), t.TempDir(), grafana(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop() })
	expectPanels(t, s)
	s.expectNamedLabels(t)
}

var legendLabel = regexp.MustCompile(`{{([^}]*)}}`)

// expectNamedLabels checks every query of every panel. The legend of the query and the columns of the panel contain
// names of labels. Each series that the query returns must have all these labels.
func (s *Server) expectNamedLabels(t *testing.T) {
	t.Helper()
	dashboards, err := panels.All()
	if err != nil {
		t.Fatal(err)
	}
	all := panelQueries(t)
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

func (s *Server) expectNamed(t *testing.T, query string, labels map[string]bool) {
	t.Helper()
	samples, err := s.Query(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	for _, sample := range samples {
		for label := range labels {
			if sample.Metric[label] == "" {
				t.Errorf("%s: a series lacks the label %s: %v", query, label, sample.Metric)
			}
		}
	}
}
