package jobs

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Warnings are what Kubernetes warned of about a pod, the latest last.
func (j Jobs) Warnings(ctx context.Context, pod Pod) ([]corev1.Event, error) {
	var events corev1.EventList
	about := fields.Set{"involvedObject.uid": string(pod.UID), "type": corev1.EventTypeWarning}
	err := j.client.List(ctx, &events, client.InNamespace(pod.Namespace), client.MatchingFieldsSelector{Selector: fields.SelectorFromSet(about)})
	if err != nil {
		return nil, fmt.Errorf("listing the events of %s: %w", pod.Name, err)
	}
	slices.SortFunc(events.Items, func(a, b corev1.Event) int { return a.LastTimestamp.Compare(b.LastTimestamp.Time) })
	return events.Items, nil
}
