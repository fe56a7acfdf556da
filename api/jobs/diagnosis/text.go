package diagnosis

import "time"

// Source says where a text comes from: from Kubernetes, from a log, or from trainyard. A pattern applies only to texts
// of certain sources. If a log quotes a message of Kubernetes, Diagnose therefore does not mistake the quote for the
// message.
type Source string

const (
	// Cluster is the source of texts that Kubernetes writes: messages of events, conditions and container states, and
	// errors of the API server.
	Cluster Source = "cluster"
	// Log is the source of texts from the end of a container's log.
	Log Source = "log"
	// State is the source of descriptions that trainyard itself writes. These descriptions are about problems for
	// which the cluster contains no message.
	State Source = "state"
)

// Text is a piece of text about a TrainJob, such as the end of a log or the message of an event.
type Text struct {
	Source Source
	// From names the origin of the text, for example "event FailedCreate of Job bert-node-0".
	From string
	// Pod is the pod that the text is about, if any.
	Pod string
	// Time is the time at which the text was written. For a log, Time is the time at which the container ended. Time is
	// zero if the time of the text is unknown.
	Time time.Time
	// Message is the text itself. A log has several lines.
	Message string
}
