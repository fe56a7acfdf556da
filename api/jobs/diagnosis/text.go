package diagnosis

import "time"

// Source says who wrote a text: Kubernetes (including controllers such as Trainer and Kueue), a program in a
// container, or trainyard. Each failure lists sources, and Diagnose searches for the failure only in texts of these
// sources. Therefore, if a log quotes a message of Kubernetes, Diagnose does not mistake the log line for the
// message itself.
type Source string

const (
	// Cluster means that Kubernetes wrote the text. The text is a message of an event, of a condition, of the status of
	// a pod, or of the state of a container. The text can also be an error of the API server.
	Cluster Source = "cluster"
	// Log means that a program in a container wrote the text. The text is the end of the container's log, or the
	// container's termination message.
	Log Source = "log"
	// State means that trainyard itself wrote the text. The text describes a problem that no message of Kubernetes
	// describes.
	State Source = "state"
)

// Text is a piece of text about a TrainJob, such as the end of a log or the message of an event.
type Text struct {
	Source Source
	// The field "From" says where the text comes from, for example "event FailedCreate of Job bert-node-0". A text can
	// come from an event, a condition, a status, a state, a log or a termination message.
	From string
	// Pod is the pod that the text is about, if any.
	Pod string
	// Time is the time at which the text was written. For a log, Time is the time at which the container ended. Time is
	// zero if the time of the text is unknown.
	Time time.Time
	// Message is the text itself. Message can consist of several lines, for example if the text is the end of a log.
	Message string
}
