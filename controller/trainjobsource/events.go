package trainjobsource

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/trainyard/trainyard/api/message"
	"github.com/trainyard/trainyard/api/v1alpha1"
)

// maxNote is the maximum length of an event's text in characters. A character has up to 4 bytes, and the API server refuses
// more than 1024 bytes.
const maxNote = 250

// The values of the field "action" in the Kubernetes events of the controller.
const (
	actionApply  = "Apply"
	actionCreate = "CreateTrainJobs"
	actionDelete = "DeleteTrainJobs"
)

// emit writes an event if the condition Ready has changed, and further events if TrainJobs were created or deleted.
func (r *round) emit() {
	if len(r.result.Created) > 0 {
		r.event(corev1.EventTypeNormal, v1alpha1.ReasonApplied, actionCreate, "created "+listNames(r.result.Created))
	}
	if len(r.result.Deleted) > 0 {
		r.event(corev1.EventTypeNormal, v1alpha1.ReasonApplied, actionDelete, "deleted "+listNames(r.result.Deleted))
	}
	before := meta.FindStatusCondition(r.before.Status.Conditions, v1alpha1.ReadyCondition)
	now := meta.FindStatusCondition(r.source.Status.Conditions, v1alpha1.ReadyCondition)
	if now == nil || before != nil && before.Status == now.Status && before.Reason == now.Reason && before.Message == now.Message {
		return
	}
	kind := corev1.EventTypeNormal
	if r.failure != nil {
		kind = corev1.EventTypeWarning
	}
	r.event(kind, now.Reason, actionApply, now.Message)
}

func (r *round) event(kind, reason, action, note string) {
	r.Events.Eventf(r.source, nil, kind, reason, action, "%s", message.Shorten(note, maxNote))
}

// listNames returns a text with the names of TrainJobs. If there are more than three TrainJobs, the
// text contains only three names and the number of the other TrainJobs.
func listNames(names []string) string {
	const most = 3
	if len(names) == 1 {
		return "TrainJob " + names[0]
	}
	text := strings.Join(names[:min(most, len(names))], ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return "TrainJobs " + text
}
