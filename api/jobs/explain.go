package jobs

import (
	"context"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/trainyard/trainyard/api/jobs/diagnosis"
	"github.com/trainyard/trainyard/api/sanitize"
)

const (
	// maxExcerptLines is the maximum number of lines in an excerpt. The maximum length of one line is maxExcerptLine,
	// in characters.
	maxExcerptLines = 10
	maxExcerptLine  = 300
	// maxExcerpts is the maximum number of excerpts. An excerpt contains only lines from the last maxExcerptBytes bytes
	// of a text.
	maxExcerpts     = 5
	maxExcerptBytes = 64 << 10
	// maxName is the maximum length of the name of a pod or of a source, in characters.
	maxName = 200
)

// Explanation says why a TrainJob failed, does not start or does not end. All texts in an Explanation are safe to show, because secrets
// and control characters in them are replaced.
type Explanation struct {
	Namespace string `json:"namespace"`
	TrainJob  string `json:"trainJob"`
	Phase     Phase  `json:"phase"`
	// Summary describes the phase in one line, for example how many pods have no cluster node.
	Summary string `json:"summary"`
	// Causes lists the recognized failures, with the most probable cause first.
	Causes []Cause `json:"causes"`
	// Excerpts is set if the TrainJob has failed for an unknown reason. The reason is unknown if Causes is empty, or
	// contains only entries of the level "symptom". Excerpts contains the end of the log of the container that failed
	// first. If there is no log, Excerpts contains messages of Kubernetes.
	Excerpts []Excerpt `json:"excerpts,omitempty"`
	// Missing lists the errors from reading logs, events and Workloads. For example, the user may lack
	// the permission to read logs.
	Missing []string `json:"missing,omitempty"`
}

// Cause is a recognized failure.
type Cause struct {
	// Code is a stable name, such as OutOfMemory. docs/troubleshooting.md lists all codes.
	Code string `json:"code"`
	// Level says how well the failure explains the state of the TrainJob: "cause", "general" or "symptom". The constants of
	// the type diagnosis.Level describe the levels.
	Level diagnosis.Level `json:"level"`
	// Origin is the part of the system in which the failure begins, such as user or platform.
	Origin diagnosis.Origin `json:"origin"`
	// Retry says whether the same TrainJob can succeed later: "no", "yes" or "wait".
	Retry diagnosis.Retry `json:"retry"`
	// Cause is a sentence that explains the failure, and Remedy says what to do about it.
	Cause  string `json:"cause"`
	Remedy string `json:"remedy"`
	// Pod is the pod in which the failure was seen, if any. The field Source describes the text in which the failure was
	// seen, such as "log of container node in pod a".
	Pod    string `json:"pod,omitempty"`
	Source string `json:"source"`
	// Line is the number of the line that shows the failure, counted from the first line that trainyard read. If
	// trainyard read only a part of a log, line 1 is the first line of this part. Evidence is the text of the line that
	// shows the failure or, if this line is long, a part of it.
	Line     int    `json:"line"`
	Evidence string `json:"evidence"`
	// Count is the number of texts in which the failure was recognized.
	Count int `json:"count"`
}

// Excerpt is the end of a log, or a message of Kubernetes.
type Excerpt struct {
	Pod    string   `json:"pod,omitempty"`
	Source string   `json:"source"`
	Lines  []string `json:"lines"`
}

// Explain reads the status, the events and the logs of a TrainJob, and says why the TrainJob failed, does not start or
// does not end. Explain needs permission to get the TrainJob, and to list pods. Without permission to read events or
// logs, Explain uses only the texts that it can read.
func (j Jobs) Explain(ctx context.Context, key types.NamespacedName) (Explanation, error) {
	snapshot, err := j.Get(ctx, key)
	if err != nil {
		return Explanation{}, err
	}
	if snapshot.Wanted, err = j.wantedPods(ctx, key); err != nil {
		return Explanation{}, err
	}
	return snapshot.Explain(ctx, j, time.Now()), nil
}

// Explain says why the TrainJob failed, does not start or does not end. The field Missing of the result lists the
// errors that the reader returned.
func (s Snapshot) Explain(ctx context.Context, reader Reader, now time.Time) Explanation {
	s, queueErr := s.WithWorkload(ctx, reader)
	events, eventsErr := s.eventTexts(ctx, reader)
	logs, missing := s.logTexts(ctx, reader)
	for _, err := range []error{eventsErr, queueErr} {
		if err != nil {
			missing = append(missing, err)
		}
	}
	return s.explain(append(s.statusTexts(now), events...), logs, missing)
}

// explain searches the texts in the arguments "cluster" and "logs" for known failures. The argument "missing" contains
// the errors from reading logs, events and Workloads.
func (s Snapshot) explain(cluster, logs []diagnosis.Text, missing []error) Explanation {
	e := Explanation{Namespace: s.Job.Namespace, TrainJob: s.Job.Name, Phase: s.Phase(), Summary: s.Summary(), Causes: []Cause{}}
	for _, err := range missing {
		e.Missing = append(e.Missing, sanitize.Line(err.Error(), maxExcerptLine))
	}
	if e.Phase == Succeeded {
		return e // earlier failures need no explanation, because the TrainJob succeeded nevertheless
	}
	isExplained := false
	for _, d := range diagnosis.Diagnose(append(cluster, logs...)) {
		isExplained = isExplained || d.Level != diagnosis.Symptom
		e.Causes = append(e.Causes, Cause{
			Code: d.Code, Level: d.Level, Origin: d.Origin, Retry: d.Retry, Cause: d.Cause, Remedy: d.Remedy,
			Pod: sanitize.Line(d.Text.Pod, maxName), Source: sanitize.Line(d.Text.From, maxName), Line: d.Line, Evidence: d.Evidence, Count: d.Count,
		})
	}
	if e.Phase == Failed && !isExplained {
		e.Excerpts = excerpts(cluster, logs)
	}
	return e
}

// excerpts returns the end of the first log that is not empty. In the argument "logs", the logs of failed containers
// come first, in the order in which the containers ended. Therefore the first log that is not empty usually belongs to
// the container that failed first. If all logs are empty, or there are no logs, the function returns excerpts of the
// texts in the argument "cluster". Such a text is, for example, the message of an event.
func excerpts(cluster, logs []diagnosis.Text) []Excerpt {
	for _, text := range logs {
		if e := excerptOf(text); len(e.Lines) > 0 {
			return []Excerpt{e}
		}
	}
	var all []Excerpt
	for _, text := range cluster[:min(len(cluster), maxExcerpts)] {
		all = append(all, excerptOf(text))
	}
	return all
}

func excerptOf(text diagnosis.Text) Excerpt {
	var lines []string
	end := text.Message[max(0, len(text.Message)-maxExcerptBytes):]
	for line := range strings.Lines(sanitize.Text(end)) {
		if line = strings.TrimRight(line, " \n"); line != "" {
			lines = append(lines, sanitize.Line(line, maxExcerptLine))
		}
	}
	return Excerpt{Pod: sanitize.Line(text.Pod, maxName), Source: sanitize.Line(text.From, maxName), Lines: lines[max(0, len(lines)-maxExcerptLines):]}
}
