// Package record converts the record of a TrainJobSource to the data of a ConfigMap and back.
//
// The record shows which versions of jobs have run already. If a record cannot be read, Decode therefore returns an
// error, and never an empty record. With an empty record, all jobs would run again.
package record

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/trainyard/trainyard/controller/trainjobsource/plan"
)

// maxBytes is the maximum size of the data of a record, because the API server accepts at most 1 MiB for the data of a
// ConfigMap. If a plan starts or replaces runs, the size of the record must be at most maxBytes minus reserve. The
// remaining bytes are for later changes that start no runs, such as marking jobs that were removed from Git. Without
// these remaining bytes, the controller could not write such changes to a full record. The controller carries out a
// plan only after it has written the changed record. If the controller could not write the record, it would delete no
// runs, and the record would stay full.
const (
	maxBytes = 1 << 20
	reserve  = 100 << 10
)

// Encode returns the data of the ConfigMap: a key for each job, whose value is the job's history as JSON. Encode returns an
// error if the data is too large for the API server, or if Decode would refuse a history.
func Encode(r plan.Record) (map[string]string, error) {
	data := make(map[string]string, len(r))
	for name, history := range r {
		text, err := json.Marshal(history)
		if err == nil {
			err = check(history) // an unreadable record would stop all TrainJobSources of the namespace
		}
		if err != nil {
			return nil, fmt.Errorf("record of job %s: %w", name, err)
		}
		data[name] = string(text)
	}
	return data, checkSize(data, 0, maxBytes)
}

// CheckRoom returns an error if a record that contains new runs is too large. The argument "later" is the number of bytes
// that the next plan will add to the record.
func CheckRoom(data map[string]string, later int) error {
	return checkSize(data, later, maxBytes-reserve)
}

func checkSize(data map[string]string, more, limit int) error {
	if size := Size(data) + more; size > limit {
		return fmt.Errorf("the record of %d jobs needs %d KiB, but has room for only %d KiB: delete TrainJobs that have ended, or lower spec.historyLimits", len(data), size>>10, limit>>10)
	}
	return nil
}

// Size returns the number of bytes of all keys and values.
func Size(data map[string]string) (size int) {
	for key, value := range data {
		size += len(key) + len(value)
	}
	return size
}

// Decode returns the record in the data of a ConfigMap. Each key of the data is the name of a job, and the value of the
// key is the history of this job. Decode reads the keys in alphabetical order. At the first value that is not a valid
// history, Decode returns an error with the name of the job.
func Decode(data map[string]string) (plan.Record, error) {
	r := make(plan.Record, len(data))
	for _, name := range slices.Sorted(maps.Keys(data)) {
		var history plan.History
		if err := json.Unmarshal([]byte(data[name]), &history); err != nil {
			return nil, fmt.Errorf("record of job %s: %w", name, err)
		}
		if err := check(history); err != nil {
			return nil, fmt.Errorf("record of job %s: %w", name, err)
		}
		r[name] = history
	}
	return r, nil
}

// check returns an error if a history contains an invalid number, such as a negative generation, or a run without a
// name.
func check(h plan.History) error {
	if h.Reserved < 1 {
		return fmt.Errorf("reserved: want at least 1, got %d", h.Reserved)
	}
	if h.Newest.Generation > h.Reserved || h.Newest.Generation < 0 {
		return fmt.Errorf("newest.generation: want a number from 0 to %d, the value of the field reserved, got %d", h.Reserved, h.Newest.Generation)
	}
	for _, run := range h.Runs {
		if run.Name == "" || run.Generation < 1 || run.Generation > h.Reserved {
			return fmt.Errorf("run %q has generation %d, want a name and a generation from 1 to %d", run.Name, run.Generation, h.Reserved)
		}
	}
	return nil
}
