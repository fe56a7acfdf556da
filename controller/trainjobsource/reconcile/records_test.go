package reconcile

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainyard/trainyard/controller/trainjobsource/plan"
)

func TestCheckRoom(t *testing.T) {
	const kib, mib = 1 << 10, 1 << 20
	others := func(count, bytes int) records {
		r := records{others: map[string]plan.Record{}, otherMaps: map[string]*corev1.ConfigMap{}}
		for i := range count {
			name := fmt.Sprint(i)
			r.others[name], r.otherMaps[name] = plan.Record{}, &corev1.ConfigMap{Data: map[string]string{"a": strings.Repeat("x", bytes)}}
		}
		return r
	}
	existing := others(maxRecords, 10)
	existing.configMap = &corev1.ConfigMap{}
	// newRun returns a plan with one new run, which is not yet marked as created. The method Confirmed returns a copy
	// of the plan's record. In this copy, the new run is marked as created. The argument "bytes" is the approximate
	// size of this copy.
	newRun := func(bytes int) plan.Plan {
		run := plan.Run{Name: "bert", Version: plan.Version{Generation: 1, Spec: strings.Repeat("x", bytes/3)}}
		return plan.Plan{Record: plan.Record{"bert": {Reserved: 1, Runs: []plan.Run{run}}, "old": {Reserved: 1, Newest: plan.Version{Spec: strings.Repeat("x", bytes/3)}}}, Create: []plan.Create{{Job: "bert", Run: run}}}
	}
	for name, tc := range map[string]struct {
		records records
		plan    plan.Plan
		want    string
	}{
		"the last record":            {others(maxRecords-1, 10), newRun(0), ""},
		"one record too many":        {others(maxRecords, 10), newRun(0), "namespace a has 100 records of TrainJobSources, which is the maximum"},
		"an existing record":         {existing, newRun(0), ""},
		"a record with room":         {others(1, 10), newRun(900 * kib), ""},
		"a full record":              {others(1, 10), newRun(930 * kib), "the record of 2 jobs needs 930 KiB, but has room for only 924 KiB"},
		"a full record, no new runs": {others(1, 10), plan.Plan{Record: newRun(mib).Record}, ""},
		"a full record, replaced":    {others(1, 10), plan.Plan{Record: newRun(1385 * kib).Record, Replaced: []string{"a", "b", "c", "d"}}, "but has room for only 924 KiB"},
		"too many bytes":             {others(16, mib), newRun(0), "the records of all TrainJobSources of namespace a would have more than 16 MiB"},
		"too many bytes later":       {others(16, mib-10*kib), newRun(220 * kib), "the records of all TrainJobSources of namespace a would have more than 16 MiB"},
	} {
		err := tc.records.checkRoom("a", tc.plan)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: error %v, want %q", name, err, tc.want)
		}
	}
}
