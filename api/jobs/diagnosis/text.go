package diagnosis

import "time"

// Source says where a text comes from: from Kubernetes, from a log, or from trainyard. Diagnose searches for a failure
// only in texts of the sources that the failure lists. For example, a message of Kubernetes that is quoted in a log is
// not mistaken for a message from Kubernetes itself.
type Source string

const (
	// Cluster is the source of texts that Kubernetes writes: messages of events, conditions and container states, and
	// errors of the API server.
	Cluster Source = "cluster"
	// Log is the source of texts from the end of a container's log.
	Log Source = "log"
	// State is the source of texts that trainyard itself writes. These texts describe problems about which the
	// cluster contains no message.
	State Source = "state"
)

// Text is a piece of text about a TrainJob, such as the end of a log or the message of an event.
type Text struct {
	Source Source
	// From names the event, condition, state or log with the text, such as "event FailedCreate of Job bert-node-0".
	From string
	// Pod is the pod that the text is about, if any.
	Pod string
	// Time is the time at which the text was written. For a log, Time is the time at which the container ended. Time is
	// zero if the time of the text is unknown.
	Time time.Time
	// Message is the text itself. A log has several lines.
	Message string
}
