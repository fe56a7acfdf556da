package diagnosis

import "time"

// Source is the kind of a text. A pattern applies only to texts of certain sources, so that a log that quotes a message
// of Kubernetes is not taken for the message itself.
type Source string

const (
	// Cluster is a message of Kubernetes: of an event, a condition, a container's state, or an error of the API server.
	Cluster Source = "cluster"
	// Log is the end of a container's log.
	Log Source = "log"
	// State is a description of a problem about which the cluster contains no message. trainyard writes these descriptions.
	State Source = "state"
)

// Text is a text about a TrainJob.
type Text struct {
	Source Source
	// From says where the text is from, for example "event FailedCreate of Job bert-node-0".
	From string
	// Pod is the pod that the text is about, if any.
	Pod string
	// Time is the time at which the text was written. For a log, it is the time at which the container ended. Time is zero
	// if this is unknown.
	Time time.Time
	// Message is the text itself. A log has several lines.
	Message string
}
