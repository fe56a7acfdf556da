package guard

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The labels by which a TrainJob selects its queue and its priority in Kueue.
const (
	queueLabel         = "kueue.x-k8s.io/queue-name"
	priorityClassLabel = "kueue.x-k8s.io/priority-class"
)

// defaultQueue is the LocalQueue that Kueue's webhook sets on new TrainJobs without a queue.
const defaultQueue = "default"

var labelsPath = field.NewPath("metadata", "labels")

// unlistedQueue denies queues that are not the tenant's. Kueue neither queues a TrainJob without a queue nor counts its
// resources.
func unlistedQueue(job Job, p Parameters) field.ErrorList {
	queue := job.Queue
	if queue == "" && !job.Exists {
		queue = defaultQueue
	}
	if len(p.Queues) == 0 || slices.Contains(p.Queues, queue) {
		return nil
	}
	got := "no queue"
	if job.Queue != "" {
		got = printable(job.Queue)
	}
	return forbid(labelsPath, "label %s: want %s, got %s", queueLabel, strings.Join(p.Queues, " or "), got)
}

// unlistedPriorityClass denies priority classes that the tenant does not list. A job of a higher priority can preempt the
// jobs of other tenants.
func unlistedPriorityClass(job Job, p Parameters) field.ErrorList {
	if job.PriorityClass == "" || slices.Contains(p.PriorityClasses, job.PriorityClass) {
		return nil
	}
	offer := ""
	if len(p.PriorityClasses) > 0 {
		offer = ", or name one of: " + strings.Join(p.PriorityClasses, ", ")
	}
	return forbid(labelsPath, "label %s: %s is not a priority class of this namespace: leave it out%s", priorityClassLabel, printable(job.PriorityClass), offer)
}

// unmanagedNamespace denies TrainJobs in a namespace without the label that Red Hat's build of Kueue requires.
func unmanagedNamespace(job Job, p Parameters) field.ErrorList {
	key, value, required := strings.Cut(p.NamespaceLabel, "=")
	if got, found := job.NamespaceLabels[key]; !required || job.NamespaceLabels == nil || found && got == value {
		return nil
	}
	return forbid(field.NewPath("metadata", "namespace"), "the namespace lacks the label %s, without which Kueue ignores its jobs: ask an admin to add the label", p.NamespaceLabel)
}
