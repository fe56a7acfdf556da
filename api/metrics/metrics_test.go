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

// TestNamesAreThoseOfTheContract: what grafana/ says that we emit is what is named here, and nothing else.
func TestNamesAreThoseOfTheContract(t *testing.T) {
	said := contract(t)
	names, labels := map[string]bool{}, map[string]bool{}
	for name, m := range said.Metrics {
		if m.Emits == "controller" {
			names[name] = true
			for _, label := range m.Labels {
				labels[label] = true
			}
		}
	}
	gotNames, gotLabels := constants(t)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(names)), gotNames); diff != "" {
		t.Errorf("metrics: -grafana/ +api/metrics:\n%s", diff)
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(labels)), gotLabels); diff != "" {
		t.Errorf("labels: -grafana/ +api/metrics:\n%s", diff)
	}
	if diff := cmp.Diff(said.Buckets, metrics.Buckets()); diff != "" {
		t.Errorf("buckets: -grafana/ +api/metrics:\n%s", diff)
	}
}

type said struct {
	Metrics map[string]struct {
		Emits  string
		Labels []string
	} `json:"metrics"`
	Buckets []float64 `json:"buckets"`
}

func contract(t *testing.T) (s said) {
	t.Helper()
	instances := load.Instances([]string{"./grafana"}, &load.Config{FS: trainyard.CUE, Dir: "/"})
	built := cuecontext.New().BuildInstance(instances[0])
	for _, path := range []string{"metrics", "buckets"} {
		if err := built.LookupPath(cue.ParsePath(path)).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if err := built.Decode(&s); err != nil {
		t.Fatal(err)
	}
	return s
}

// constants are the values of the package's own constants.
func constants(t *testing.T) (names, labels []string) {
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
