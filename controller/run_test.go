package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestControllersThatRun(t *testing.T) {
	for name, tc := range map[string]struct {
		options Options
		running []string
		lease   string
	}{
		"all":                       {Options{Controllers: Names()}, []string{TrainJobs, TrainJobSources}, "trainyard-controller"},
		"a shard":                   {Options{Controllers: Names(), Shard: "a"}, []string{TrainJobSources}, "trainyard-controller-a"},
		"only TrainJobSources":      {Options{Controllers: []string{TrainJobSources}}, []string{TrainJobSources}, "trainyard-controller"},
		"only TrainJobs":            {Options{Controllers: []string{TrainJobs}}, []string{TrainJobs}, "trainyard-controller.trainjob"},
		"read-only":                 {Options{Controllers: Names(), ReadOnly: true}, []string{TrainJobs}, "trainyard-controller.trainjob"},
		"none":                      {Options{}, nil, ""},
		"read-only TrainJobSources": {Options{Controllers: []string{TrainJobSources}, ReadOnly: true}, nil, ""},
		"a read-only shard":         {Options{Controllers: Names(), Shard: "a", ReadOnly: true}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(append([]string{}, tc.running...), append([]string{}, tc.options.running()...)); diff != "" {
				t.Errorf("controllers: -want +got:\n%s", diff)
			}
			if err := tc.options.Check(); (err != nil) != (len(tc.running) == 0) {
				t.Errorf("error %v", err)
			}
			if got := tc.options.leaseName(); len(tc.running) > 0 && got != tc.lease {
				t.Errorf("the lease is %s, want %s", got, tc.lease)
			}
		})
	}
}
