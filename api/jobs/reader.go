package jobs

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Reader reads three sources of information about TrainJobs: events, Workloads and logs. The status of a TrainJob and
// the status of its pods do not contain the information from these sources. The type Jobs implements Reader.
type Reader interface {
	// Events lists the events of a namespace, from the oldest to the latest.
	Events(ctx context.Context, namespace string) ([]corev1.Event, error)
	// Workloads returns the Workloads of Kueue in a namespace. The keys of the map are the UIDs of
	// the TrainJobs.
	Workloads(ctx context.Context, namespace string) (map[types.UID]Workload, error)
	// EndOfLog reads the last lines of a container's log. If the argument "previous" is true, EndOfLog reads the log of
	// the container's previous run, which is the run before the latest restart.
	EndOfLog(ctx context.Context, pod Pod, container string, lines int64, previous bool) (string, error)
}
