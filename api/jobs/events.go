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

// CreationFailures returns the messages of warning events that explain why pods of a TrainJob could not be created,
// from the oldest to the latest. For example, a message says that a quota rejected the JobSet, or that Pod Security
// or an OpenShift security context constraint rejected a pod.
func (j Jobs) CreationFailures(ctx context.Context, key types.NamespacedName) ([]string, error) {
	events, err := j.listEvents(ctx, key.Namespace, fields.Set{"type": corev1.EventTypeWarning})
	if err != nil {
		return nil, err
	}
	var messages []string
	for _, e := range events {
		if reportsCreationFailure(e, key.Name) {
			messages = append(messages, e.Message)
		}
	}
	return messages, nil
}

// reportsCreationFailure reports whether an event says that the JobSet, a Job or a pod of a TrainJob could not be
// created. The parameter "name" is the name of the TrainJob. The JobSet has the same name as the TrainJob.
func reportsCreationFailure(e corev1.Event, name string) bool {
	object := e.InvolvedObject
	switch object.Kind {
	case "Job":
		return e.Reason == "FailedCreate" && slices.Contains(jobNames(name), object.Name)
	case trainer.TrainJobKind, "JobSet":
		return strings.HasSuffix(e.Reason, "CreationFailed") && object.Name == name
	}
	return false
}

// Warnings returns the warning events about a pod, from the oldest to the latest.
func (j Jobs) Warnings(ctx context.Context, pod Pod) ([]corev1.Event, error) {
	return j.listEvents(ctx, pod.Namespace, fields.Set{"involvedObject.uid": string(pod.UID), "type": corev1.EventTypeWarning})
}

// Events lists the events of a namespace, from the oldest to the latest.
func (j Jobs) Events(ctx context.Context, namespace string) ([]corev1.Event, error) {
	return j.listEvents(ctx, namespace, nil)
}

// listEvents lists the events in a namespace, but only events that match the field selector. The events are sorted by
// the time of their last occurrence, and the oldest event comes first.
func (j Jobs) listEvents(ctx context.Context, namespace string, selector fields.Set) ([]corev1.Event, error) {
	var events corev1.EventList
	err := j.core.Get().Namespace(namespace).Resource("events").Param("fieldSelector", selector.String()).Do(ctx).Into(&events)
	if err != nil {
		return nil, fmt.Errorf("listing events in %s: %w", namespace, err)
	}
	slices.SortFunc(events.Items, func(a, b corev1.Event) int { return lastSeen(a).Compare(lastSeen(b)) })
	return events.Items, nil
}

// lastSeen returns the time of the last occurrence of an event. Old clients of the API set the field lastTimestamp of
// an event. New clients of the API set the field eventTime of an event. If the event is repeated, new clients also
// set the field series.lastObservedTime.
func lastSeen(e corev1.Event) time.Time {
	if e.Series != nil && e.Series.LastObservedTime.After(e.LastTimestamp.Time) {
		return e.Series.LastObservedTime.Time
	}
	if e.LastTimestamp.IsZero() {
		return e.EventTime.Time
	}
	return e.LastTimestamp.Time
}
