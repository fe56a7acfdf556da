package trainjob

import (
	"context"
	"regexp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	"github.com/trainyard/trainyard/api/jobs"
)

const (
	// firstRead is the delay before the first read of the launcher's log. The delay begins when the controller
	// notices that the training has started. Each later delay is three times as long as the delay before it.
	firstRead = 5 * time.Second
	// readTimeout limits the time to read a log.
	readTimeout = 10 * time.Second
	// maxReads is the maximum number of attempts to find the first output of a rank. Each attempt reads the log of the
	// launcher once. The last attempt takes place about half an hour after the controller has noticed that the training
	// has started.
	maxReads = 6
	// startReaders is the number of logs that are read at the same time.
	startReaders = 2
)

// Values of the label "source", which says how the start of the MPI ranks was detected.
const (
	fromMarker = "marker"
	fromLog    = "log"
)

// marker is the text that a program can print as soon as MPI has started.
const marker = "TRAINYARD_MPI_READY"

// rankLine matches the prefix with which mpirun marks the output of a rank, such as "[1,0]<stdout>:" in Open MPI and "[0] "
// in Hydra.
var rankLine = regexp.MustCompile(`^(\[\S+\]<std(out|err)>:|\[\d+\] )`)

// mpiStart is a pending measurement of how long MPI takes to start.
type mpiStart struct {
	launcher types.NamespacedName
	mpi      string
	began    time.Time
	reads    int
	// firstLine is the time of the first line that a rank printed, or zero if no such line was found yet. After this
	// line was found, mpiStarts reads the log once more, to look for the text of the constant "marker". The reason is
	// that a later line can contain this text.
	firstLine time.Time
}

// mpiStarts measures in the background how long MPI takes to start. For this purpose, it reads the timestamps in the
// logs of launchers.
type mpiStarts struct {
	logs    func(ctx context.Context, pod types.NamespacedName, container string) (string, error)
	observe func(start mpiStart, source string, took time.Duration)
	queue   workqueue.TypedDelayingInterface[mpiStart]
}

func newMPIStarts(client jobs.Jobs, metrics *Metrics) *mpiStarts {
	return &mpiStarts{logs: client.BeginningOfLog, observe: metrics.observeMPIStart, queue: workqueue.NewTypedDelayingQueue[mpiStart]()}
}

// add puts a measurement into the queue. The measurement is for a TrainJob whose launcher has started.
func (m *mpiStarts) add(snapshot jobs.Snapshot, mpi string) {
	for _, pod := range snapshot.LatestAttempts() {
		if pod.Role == jobs.Launcher && mpi != "" {
			key := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
			m.queue.AddAfter(mpiStart{launcher: key, mpi: mpi, began: snapshot.Times().Started}, firstRead)
		}
	}
}

// Start reads logs until the context ends.
func (m *mpiStarts) Start(ctx context.Context) error {
	return work(ctx, m.queue, startReaders, m.measure)
}

// measure reads the log of a launcher, to find the time at which MPI started. If the log contains neither the marker
// nor output of a rank, the log is read again later, up to maxReads reads in total. If the log contains output of a
// rank, but not the marker, the log is read one last time. If this last read does not find the marker either, the time
// of the rank's first line counts as the start of MPI.
func (m *mpiStarts) measure(ctx context.Context, start mpiStart) {
	reading, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	text, err := m.logs(reading, start.launcher, jobs.MainContainer)
	source, at := findMPIStart(text)
	switch isGone := err != nil && !jobs.IsRetryable(err); {
	case source == fromMarker:
		m.observe(start, source, max(0, at.Sub(start.began)))
		return
	case !start.firstLine.IsZero():
		m.observe(start, fromLog, max(0, start.firstLine.Sub(start.began)))
		return
	case isGone: // the pod was deleted
		return
	}
	start.firstLine = at
	if start.reads++; start.reads < maxReads || !start.firstLine.IsZero() {
		delay := firstRead
		for range start.reads {
			delay *= 3
		}
		m.queue.AddAfter(start, delay)
	}
}

// findMPIStart returns the time of the first log line that contains the marker. The Go constant "marker" defines the
// text of the marker. If no line contains the marker, findMPIStart returns the time of the first line that mpirun marks
// as output of a rank. If the log contains neither the marker nor output of a rank, the result "source" is empty. Each
// line of the log begins with a timestamp.
func findMPIStart(log string) (source string, at time.Time) {
	for line := range strings.Lines(log) {
		stamp, text, _ := strings.Cut(line, " ")
		written, err := time.Parse(time.RFC3339Nano, stamp)
		switch {
		case err != nil:
		case strings.Contains(text, marker):
			return fromMarker, written
		case source == "" && rankLine.MatchString(text):
			source, at = fromLog, written
		}
	}
	return source, at
}
