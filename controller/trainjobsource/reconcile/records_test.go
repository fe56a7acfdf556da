package reconcile

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainyard/trainyard/controller/trainjobsource/plan"
)

// TestCheckRoom checks the limits of the records of a namespace.
func TestCheckRoom(t *testing.T) {
	text := func(bytes int) map[string]string { return map[string]string{"a": strings.Repeat("x", bytes)} }
	all := func(others, bytes int, own map[string]string) records {
		r := records{others: map[string]plan.Record{}, otherMaps: map[string]*corev1.ConfigMap{}}
		if own != nil {
			r.configMap = &corev1.ConfigMap{Data: own}
		}
		for i := range others {
			name := fmt.Sprint(i)
			r.others[name], r.otherMaps[name] = plan.Record{}, &corev1.ConfigMap{Data: text(bytes)}
		}
		return r
	}
	for name, tc := range map[string]struct {
		records records
		data    map[string]string
		want    string
	}{
		"the last record":          {all(maxRecords-1, 10, nil), text(10), ""},
		"one record too many":      {all(maxRecords, 10, nil), text(10), "namespace a has 100 records of TrainJobSources, which is the maximum"},
		"an existing record":       {all(maxRecords, 10, text(10)), text(20), ""},
		"too many bytes":           {all(16, 1<<20, text(10)), text(20), "the records of all TrainJobSources of namespace a would have more than 16 MiB"},
		"a record that shrinks":    {all(16, 1<<20, text(20)), text(10), ""},
		"a record with many bytes": {all(14, 1<<20, text(10)), text(1 << 20), ""},
	} {
		err := tc.records.checkRoom("a", tc.data)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: error %v, want %q", name, err, tc.want)
		}
	}
}
