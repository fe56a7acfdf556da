package jobs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
)

// Refusals are why pods of a TrainJob could not even be made: Pod Security, a quota, OpenShift's
// security context constraints or another admission plugin refuse them, or the JobSet or Jobs
// that would make them. The latest is last.
func (j Jobs) Refusals(ctx context.Context, key types.NamespacedName) ([]string, error) {
	events, err := j.events(ctx, key.Namespace, fields.Set{"type": corev1.EventTypeWarning})
	if err != nil {
		return nil, err
	}
	var said []string
	for _, e := range events {
		if refuses(e, key.Name) {
			said = append(said, e.Message)
		}
	}
	return said, nil
}

// refuses reports whether an event says that something of a TrainJob could not be made. The JobSet
// has the TrainJob's name, and Jobs begin with it.
func refuses(e corev1.Event, name string) bool {
	about := e.InvolvedObject
	switch about.Kind {
	case "Job":
		return e.Reason == "FailedCreate" && strings.HasPrefix(about.Name, name+"-")
	case trainer.TrainJobKind, "JobSet":
		return strings.HasSuffix(e.Reason, "CreationFailed") && about.Name == name
	}
	return false
}

// Warnings are what Kubernetes warned of about a pod, the latest last.
func (j Jobs) Warnings(ctx context.Context, pod Pod) ([]corev1.Event, error) {
	return j.events(ctx, pod.Namespace, fields.Set{"involvedObject.uid": string(pod.UID), "type": corev1.EventTypeWarning})
}

// events are those of a namespace with these fields, the latest last.
func (j Jobs) events(ctx context.Context, namespace string, about fields.Set) ([]corev1.Event, error) {
	var events corev1.EventList
	err := j.core.Get().Namespace(namespace).Resource("events").Param("fieldSelector", about.String()).Do(ctx).Into(&events)
	if err != nil {
		return nil, fmt.Errorf("listing events in %s: %w", namespace, err)
	}
	slices.SortFunc(events.Items, func(a, b corev1.Event) int { return when(a).Compare(when(b)) })
	return events.Items, nil
}

// when an event was last seen: the scheduler's have another field for it than the kubelet's.
func when(e corev1.Event) time.Time {
	if e.LastTimestamp.IsZero() {
		return e.EventTime.Time
	}
	return e.LastTimestamp.Time
}
