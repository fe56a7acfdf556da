package jobs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/trainyard/trainyard/api/jobs/diagnosis"
)

const (
	// maxLogs is the maximum number of logs that are read to explain a failure.
	maxLogs = 10
	// logLines is the number of lines that are read from the end of each log.
	logLines = 2000
	// logTimeout is the maximum time for reading one log. Without this limit, the API server would wait a long time for the
	// kubelet of a cluster node that does not respond.
	logTimeout = 10 * time.Second
)

// candidate is a container whose log can explain a failure.
type candidate struct {
	pod       Pod
	container string
	ended     time.Time // zero if the container runs, or if the time is unknown
	previous  bool      // whether the container was restarted, so that the log before the restart is needed
}

// logTexts reads the end of one log for each container in the list that the function "candidates" returns. The result
// "texts" contains the ends of these logs, in the same order. The result "missing" contains an error for each log that
// cannot be read, or one error for all logs if the user lacks the permission to read logs.
func (s Snapshot) logTexts(ctx context.Context, reader Reader) (texts []diagnosis.Text, missing []error) {
	candidates := s.candidates()
	logs, failures := make([]string, len(candidates)), make([]error, len(candidates))
	var reads sync.WaitGroup
	for i, c := range candidates {
		reads.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, logTimeout)
			defer cancel()
			logs[i], failures[i] = endOfLog(ctx, reader, c, logLines)
		})
	}
	reads.Wait()
	for i, c := range candidates {
		switch err := failures[i]; {
		case apierrors.IsForbidden(err):
			missing = append(missing, fmt.Errorf("logs: no permission to get pods/log in namespace %s", s.Job.Namespace))
			return texts, missing // the other errors are the same
		case err != nil:
			missing = append(missing, err)
		default:
			texts = append(texts, diagnosis.Text{
				Source: diagnosis.Log, From: fmt.Sprintf("log of container %s in pod %s", c.container, c.pod.Name),
				Pod: c.pod.Name, Time: c.ended, Message: logs[i],
			})
		}
	}
	return texts, missing
}

// endOfLog reads the last lines of a log. If the requested lines have more than maxLog bytes in total, the kubelet
// sends only the first maxLog bytes, and the end of the log is missing. endOfLog then requests fewer lines, so that it
// gets the end of the log.
func endOfLog(ctx context.Context, reader Reader, c candidate, lines int64) (string, error) {
	for {
		text, err := reader.EndOfLog(ctx, c.pod, c.container, lines, c.previous)
		if err != nil || len(text) < maxLog || lines == 1 {
			return text, err
		}
		lines = max(1, lines/10)
	}
}

// candidates returns the containers whose logs are read. The list begins with the failed containers, in the order in
// which they ended. The list ends with the running containers of the launcher. The launcher's log is read even if the
// launcher still runs, because mpirun can hang when a rank has failed.
func (s Snapshot) candidates() []candidate {
	var failed, running []candidate
	for _, pod := range s.relevantPods() {
		for _, c := range pod.containers() {
			if ended, previous := failureOf(c); ended != nil {
				failed = append(failed, candidate{pod, c.Name, ended.FinishedAt.Time, previous})
			} else if c.State.Running != nil && pod.Role == Launcher {
				running = append(running, candidate{pod, c.Name, time.Time{}, false})
			}
		}
	}
	slices.SortStableFunc(failed, func(a, b candidate) int {
		return cmp.Or(compareEnds(a.ended, b.ended), -cmp.Compare(rank(a.pod.Role), rank(b.pod.Role)))
	})
	return append(limit(failed, maxLogs-len(running)), running...)
}

// failureOf returns the final state of the latest failed run of a container, or nil if the status shows no
// failed run. The result "previous" is true if the container was restarted after the failed run.
func failureOf(c corev1.ContainerStatus) (ended *corev1.ContainerStateTerminated, previous bool) {
	switch last := c.LastTerminationState.Terminated; {
	case c.State.Terminated != nil && c.State.Terminated.ExitCode != 0:
		return c.State.Terminated, false
	case last != nil && last.ExitCode != 0:
		return last, true
	}
	return nil, false
}

// limit shortens a list to at most n containers. It repeatedly removes the last container that does not belong to the
// launcher. If all remaining containers belong to the launcher, the function "limit" removes the first container in the
// list.
func limit(all []candidate, n int) []candidate {
	for len(all) > max(n, 0) {
		last := len(all) - 1
		for last > 0 && all[last].pod.Role == Launcher {
			last--
		}
		all = slices.Delete(all, last, last+1)
	}
	return all
}

// compareEnds orders times. An unknown time comes after all known times. For example, the kubelet does not know when the
// containers of a lost cluster node ended.
func compareEnds(a, b time.Time) int {
	if a.IsZero() || b.IsZero() {
		return -a.Compare(b)
	}
	return a.Compare(b)
}
