package trainjob

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
)

func TestFindMPIStart(t *testing.T) {
	for name, tc := range map[string]struct {
		log, source string
		second      int
	}{
		"Open MPI 4":                    {"2026-11-27T10:00:01.5Z pulling data\n2026-11-27T10:00:03Z [1,0]<stdout>:step 1\n", fromLog, 3},
		"Open MPI 5":                    {"2026-11-27T10:00:04Z [prterun-bert-1@1,3]<stderr>: warning\n", fromLog, 4},
		"Hydra":                         {"2026-11-27T10:00:05Z [12] step 1\n", fromLog, 5},
		"a marker after lines of ranks": {"2026-11-27T10:00:03Z [1,0]<stdout>:import\n2026-11-27T10:00:09Z [1,0]<stdout>:TRAINYARD_MPI_READY\n", fromMarker, 9},
		"no rank":                       {"2026-11-27T10:00:03Z [info] starting\n", "", 0},
		"no timestamp":                  {"[1,0]<stdout>:step 1\n", "", 0},
		"an empty log":                  {"", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			source, at := findMPIStart(tc.log)
			if source != tc.source || source != "" && at.Second() != tc.second {
				t.Errorf("findMPIStart() = %q, %s, want %q at second %d", source, at, tc.source, tc.second)
			}
		})
	}
}

// TestMeasureReadsAgain checks that the log is read again until the log contains a line of a rank. If the log contains
// a line of a rank, but not the text of the constant "marker", the log must be read once more. The reason is that a
// line that is written later can contain this text.
func TestMeasureReadsAgain(t *testing.T) {
	began := time.Date(2026, 11, 27, 10, 0, 0, 0, time.UTC)
	const line = "2026-11-27T10:00:20Z [1,0]<stdout>:step 1\n"
	texts := []string{"", line, line}
	var took time.Duration
	reads := 0
	m := &mpiStarts{
		logs: func(context.Context, types.NamespacedName, string) (string, error) {
			reads++
			if reads > len(texts) {
				return "", errors.New("the log cannot be read")
			}
			return texts[reads-1], nil
		},
		observe: func(_ mpiStart, _ string, d time.Duration) { took = d },
		queue:   workqueue.NewTypedDelayingQueue[mpiStart](),
	}
	defer m.queue.ShutDown()
	m.measure(t.Context(), mpiStart{began: began})
	m.measure(t.Context(), mpiStart{began: began, reads: 1})
	if took != 0 {
		t.Errorf("MPI took %s after one line of a rank, want another read for the marker", took)
	}
	m.measure(t.Context(), mpiStart{began: began, reads: 2, firstLine: began.Add(20 * time.Second)})
	if took != 20*time.Second {
		t.Errorf("MPI took %s, want 20 s", took)
	}
	m.measure(t.Context(), mpiStart{reads: maxReads - 1}) // adds no further read
	if m.queue.Len() > 0 {
		t.Error("the queue has a read at once")
	}
}
