package record

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/controller/trainjobsource/plan"
)

// version returns a plan.Version. The digest of its spec has 32 characters. The digests that the
// controller writes have only 26 characters, so a version in these tests needs more room than the
// same version in a real record.
func version(generation int) plan.Version {
	return plan.Version{Generation: generation, Spec: strings.Repeat("x", 32)}
}

// full creates a record with the maximum number of jobs. The record contains as many jobs as a folder can contain, and
// each of these jobs has the given number of runs. The record also contains jobs that were removed from Git and from
// the cluster. The number of these jobs is the maximum for a record (the constant removedJobs in the package plan).
func full(runs int) plan.Record {
	r := plan.Record{}
	long := strings.Repeat("n", 58)
	for i := range 1000 {
		h := plan.History{Newest: version(runs), Reserved: runs}
		for run := range runs {
			h.Runs = append(h.Runs, plan.Run{Name: fmt.Sprintf("%.35s-%08d", long, i), Version: version(run + 1), Created: true})
		}
		r[fmt.Sprintf("a%s%04d", long, i)] = h
	}
	for i := range 2000 {
		r[fmt.Sprintf("b%s%04d", long, i)] = plan.History{Newest: version(1), Reserved: 1, Removed: 1_800_000_000}
	}
	return r
}

func TestRoundTrip(t *testing.T) {
	for name, r := range map[string]plan.Record{
		"empty":    {},
		"reserved": {"a": {Reserved: 2, Newest: plan.Version{Generation: 1}, Runs: []plan.Run{{Name: "a", Version: plan.Version{Generation: 2, Spec: "s", Retry: "r", Request: "q"}}}}},
		"full":     full(4),
	} {
		data, err := Encode(r)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, err := Decode(data)
		if diff := cmp.Diff(r, got); err != nil || diff != "" {
			t.Errorf("%s: error %v, -want +got:\n%s", name, err, diff)
		}
	}
}

func TestEncodeRefusesTooLargeRecord(t *testing.T) {
	if _, err := Encode(full(9)); err == nil || !strings.Contains(err.Error(), "has room for only 1024 KiB") {
		t.Errorf("Encode() = %v, want an error about the size", err)
	}
}

func TestEncodeRefusesUnreadableRecord(t *testing.T) {
	if _, err := Encode(plan.Record{"bert": {Reserved: -1}}); err == nil || !strings.HasPrefix(err.Error(), "record of job bert: ") {
		t.Errorf("Encode() = %v, want an error that names the job", err)
	}
}

// TestDecodeRefusesGarbage checks that Decode returns an error, and not an empty history, for a damaged history.
func TestDecodeRefusesGarbage(t *testing.T) {
	for _, text := range []string{
		"", "null", "{}", "[]", `{"newest": 1}`, `{"newest": {"generation": 2}, "reserved": 1}`, `{"newest": {"generation": -1}}`,
		`{"reserved": 1, "runs": [{"name": "a"}]}`, `{"reserved": 1, "runs": [{"name": "a", "generation": 2}]}`, `{"reserved": 1, "runs": [{"generation": 1}]}`,
	} {
		if _, err := Decode(map[string]string{"bert": text}); err == nil || !strings.HasPrefix(err.Error(), "record of job bert: ") {
			t.Errorf("Decode(%q) = %v, want an error that names the job", text, err)
		}
	}
}
