package metrics_test

import (
	"go/constant"
	"go/importer"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"
	"testing"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/load"
	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/api/metrics"
)

// TestNames checks that package "metrics" contains exactly the metrics and labels that the folder grafana/ declares for the
// controller. The histogram buckets must also be the same as in grafana/.
func TestNames(t *testing.T) {
	want := readContract(t)
	names, labels := map[string]bool{}, map[string]bool{}
	for name, m := range want.Metrics {
		if m.Emits == "controller" {
			names[name] = true
			for _, label := range m.Labels {
				labels[label] = true
			}
		}
	}
	gotNames, gotLabels := readConstants(t)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(names)), gotNames); diff != "" {
		t.Errorf("metrics: -grafana/ +api/metrics:\n%s", diff)
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(labels)), gotLabels); diff != "" {
		t.Errorf("labels: -grafana/ +api/metrics:\n%s", diff)
	}
	if diff := cmp.Diff(want.Buckets, metrics.Buckets()); diff != "" {
		t.Errorf("buckets: -grafana/ +api/metrics:\n%s", diff)
	}
}

// contract contains the metrics and the histogram buckets that grafana/ declares.
type contract struct {
	Metrics map[string]struct {
		Emits  string
		Labels []string
	} `json:"metrics"`
	Buckets []float64 `json:"buckets"`
}

func readContract(t *testing.T) (c contract) {
	t.Helper()
	instances := load.Instances([]string{"./grafana"}, &load.Config{FS: trainyard.CUE, Dir: "/"})
	built := cuecontext.New().BuildInstance(instances[0])
	for _, path := range []string{"metrics", "buckets"} {
		if err := built.LookupPath(cue.ParsePath(path)).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if err := built.Decode(&c); err != nil {
		t.Fatal(err)
	}
	return c
}

func readConstants(t *testing.T) (names, labels []string) {
	t.Helper()
	p, err := importer.ForCompiler(token.NewFileSet(), "source", nil).Import("github.com/trainyard/trainyard/api/metrics")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range p.Scope().Names() {
		c, is := p.Scope().Lookup(name).(*types.Const)
		if !is {
			continue
		}
		value := constant.StringVal(c.Val())
		if strings.HasPrefix(name, "Label") {
			labels = append(labels, value)
		} else {
			names = append(names, value)
		}
	}
	slices.Sort(names)
	slices.Sort(labels)
	return names, labels
}
