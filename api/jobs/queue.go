package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// queueLabel and jobUIDLabel are labels of Kueue (kueue/pkg/controller/constants). queueLabel is a label
// of TrainJobs, and contains the name of the queue. jobUIDLabel is a label of Workloads, and contains the
// UID of the TrainJob to which the Workload belongs.
const (
	queueLabel  = "kueue.x-k8s.io/queue-name"
	jobUIDLabel = "kueue.x-k8s.io/job-uid"
)

// kueueVersions lists the supported versions of Kueue's API, from the newest to the oldest. All these versions have
// the fields of workloadList.
var kueueVersions = []string{"v1beta2", "v1beta1"}

// Workload is the state of a TrainJob in a queue of Kueue.
type Workload struct {
	// Name is the name of the Workload object, and APIVersion is the version of Kueue's API in which the Workload
	// was read.
	Name, APIVersion string
	// Inactive is true if spec.active is false. Kueue does not admit an inactive Workload.
	Inactive bool
	// Conditions are the conditions of the Workload. The conditions of a Workload say why its
	// TrainJob is not admitted.
	Conditions []metav1.Condition
	// Ahead is the number of Workloads of the same queue that Kueue tries to admit before this Workload. Ahead is nil if
	// the Workload does not wait. Ahead assumes Kueue's default order. With admission fair sharing, Kueue can admit
	// Workloads in another order.
	Ahead *int
}

// workloadList contains the fields of Kueue's Workload objects that this package uses. Package jobs does not import Kueue's
// own Go types, because every command would then register these types at its start, and would be slower.
type workloadList struct {
	APIVersion string         `json:"apiVersion"`
	Items      []workloadItem `json:"items"`
}

type workloadItem struct {
	metav1.ObjectMeta `json:"metadata"`
	Status            struct {
		Conditions []metav1.Condition `json:"conditions"`
	} `json:"status"`
	Spec struct {
		QueueName string `json:"queueName"`
		Priority  int32  `json:"priority"`
		Active    *bool  `json:"active"`
	} `json:"spec"`
}

// Workloads returns the Workloads of all TrainJobs in a namespace. The keys of the map are the UIDs of the TrainJobs. The
// result is nil if Kueue is not installed.
func (j Jobs) Workloads(ctx context.Context, namespace string) (map[types.UID]Workload, error) {
	list, err := j.listWorkloads(ctx, namespace)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing Kueue Workloads in namespace %s: %w", namespace, err)
	}
	slices.SortFunc(list.Items, compareWaiting)
	found, waiting := map[types.UID]Workload{}, map[string]int{}
	for _, w := range list.Items {
		workload := Workload{Name: w.Name, APIVersion: list.APIVersion, Inactive: !ptr.Deref(w.Spec.Active, true), Conditions: w.Status.Conditions}
		if !workload.Inactive && !meta.IsStatusConditionTrue(w.Status.Conditions, "QuotaReserved") && !meta.IsStatusConditionTrue(w.Status.Conditions, "Finished") {
			workload.Ahead = new(waiting[w.Spec.QueueName])
			waiting[w.Spec.QueueName]++
		}
		found[types.UID(w.Labels[jobUIDLabel])] = workload
	}
	return found, nil
}

// compareWaiting orders Workloads as Kueue admits them by default: by priority, and then by the time at which they began to
// wait. If two Workloads began to wait at the same time, Kueue 0.19 compares their UIDs. Earlier versions of Kueue have no
// defined order for Workloads with equal times.
func compareWaiting(a, b workloadItem) int {
	return cmp.Or(cmp.Compare(b.Spec.Priority, a.Spec.Priority), a.waitsSince().Compare(b.waitsSince()), cmp.Compare(a.UID, b.UID))
}

// waitsSince returns the time at which a Workload began to wait. In most cases, this is the creation time of the
// Workload. If Kueue evicted the Workload with the reason PodsReadyTimeout or AdmissionCheck, this is the time of the
// eviction.
func (w workloadItem) waitsSince() time.Time {
	c := meta.FindStatusCondition(w.Status.Conditions, "Evicted")
	if c != nil && c.Status == metav1.ConditionTrue && slices.Contains([]string{"PodsReadyTimeout", "AdmissionCheck"}, c.Reason) {
		return c.LastTransitionTime.Time
	}
	return w.CreationTimestamp.Time
}

// listWorkloads lists the Workload objects of a namespace, in the newest version of the API that the cluster serves.
func (j Jobs) listWorkloads(ctx context.Context, namespace string) (list workloadList, err error) {
	for _, version := range kueueVersions {
		var text []byte
		text, err = j.core.Get().AbsPath("/apis/kueue.x-k8s.io", version, "namespaces", namespace, "workloads").DoRaw(ctx)
		if err == nil {
			err = json.Unmarshal(text, &list)
			return list, err
		}
		if !apierrors.IsNotFound(err) {
			return list, err
		}
	}
	return list, err
}

// WithWorkload reads the Workload of the TrainJob, and returns a copy of the snapshot with this Workload. If the TrainJob
// has no queue, WithWorkload returns the snapshot unchanged.
func (s Snapshot) WithWorkload(ctx context.Context, reader Reader) (Snapshot, error) {
	if s.Queue() == "" {
		return s, nil
	}
	all, err := reader.Workloads(ctx, s.Job.Namespace)
	if found, ok := all[s.Job.UID]; ok {
		s.Workload = &found
	}
	return s, err
}

func (w *Workload) isActive() bool   { return w != nil && !w.Inactive }
func (w *Workload) isInactive() bool { return w != nil && w.Inactive }

// obstacles returns the conditions that say why a TrainJob is not admitted, or why the TrainJob was stopped. Kueue does
// not remove all outdated conditions. Therefore the method "obstacles" does not return conditions that can be outdated.
// An inactive Workload can still have conditions about missing quota or an earlier eviction. An active Workload can
// still have the condition about an earlier deactivation.
func (w *Workload) obstacles() []metav1.Condition {
	if w == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(w.Conditions), func(c metav1.Condition) bool {
		isDeactivation := strings.HasPrefix(c.Reason, "Deactivated") || c.Reason == "InactiveWorkload" // before Kueue 0.10
		isObstacle := c.Type == "QuotaReserved" && c.Status == metav1.ConditionFalse && !w.Inactive ||
			c.Type == "Evicted" && c.Status == metav1.ConditionTrue && isDeactivation == w.Inactive
		return !isObstacle
	})
}

// describeQueue says in which queue a TrainJob waits, how many jobs are ahead of it, and why Kueue has not admitted it.
// If the Workload is inactive, describeQueue says only why the TrainJob is suspended.
func (s Snapshot) describeQueue() string {
	text := "Waiting in queue " + s.Queue()
	if s.Workload == nil {
		return text
	}
	if s.Workload.Inactive {
		return cmp.Or(s.timeout(), fmt.Sprintf("Suspended, because spec.active of Workload %s is false", s.Workload.Name))
	}
	if s.Workload.Ahead != nil {
		text += fmt.Sprintf("; %s ahead, the waiting time is unknown", countNoun(*s.Workload.Ahead, "job"))
	}
	for _, c := range s.Workload.obstacles() {
		text += "; " + c.Message
	}
	return text
}
