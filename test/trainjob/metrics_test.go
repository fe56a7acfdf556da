package trainjob

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/trainyard/trainyard/controller/trainjob"
	"github.com/trainyard/trainyard/test/grafanadata"
)

// TestMetricsMatchTheCatalogue checks that the controller's metrics have the names, help texts and labels that grafana/
// declares.
func TestMetricsMatchTheCatalogue(t *testing.T) {
	g, err := grafanadata.Read("runbooks")
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for name, metric := range g.Metrics {
		if strings.HasPrefix(name, "trainyard_trainjob_") {
			want = append(want, describe(prometheus.NewDesc(name, metric.Help, metric.Labels, nil)))
		}
	}
	descriptions := make(chan *prometheus.Desc, 100)
	trainjob.NewMetrics(time.Now).Describe(descriptions)
	close(descriptions)
	for description := range descriptions {
		got = append(got, describe(description))
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics: -grafana/ +controller:\n%s", diff)
	}
}

// labelList matches the labels in the text of a prometheus.Desc.
var labelList = regexp.MustCompile(`variableLabels: \{([^}]*)\}`)

func describe(d *prometheus.Desc) string {
	return labelList.ReplaceAllStringFunc(d.String(), func(list string) string {
		labels := strings.Split(labelList.FindStringSubmatch(list)[1], ",")
		slices.Sort(labels)
		return strings.Join(labels, ",")
	})
}
