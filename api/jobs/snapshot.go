package jobs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/trainyard/trainyard/api/v1alpha1"
)

// Role is the name of the ReplicatedJob to which a pod belongs.
type Role string

const (
	// Launcher runs mpirun. If the runtime sets runLauncherAsNode, the launcher also runs ranks.
	Launcher Role = "launcher"
	// Node runs sshd, through which mpirun starts ranks.
	Node Role = "node"
)

// roles lists the roles of all pods that Trainer creates. The last two roles belong to initializers, which download
// data sets and models before the training.
var roles = []Role{Launcher, Node, "dataset-initializer", "model-initializer"}

// jobNames returns the possible names of the Jobs of a TrainJob. JobSet creates one Job for each role.
func jobNames(trainJob string) []string {
	names := make([]string, len(roles))
	for i, role := range roles {
		names[i] = fmt.Sprintf("%s-%s-0", trainJob, role)
	}
	return names
}

// Trainer and JobSet define the following names.
const (
	// MainContainer is the name of the container that runs mpirun on the launcher, and sshd on a node.
	MainContainer = "node"
	// JobSetLabel and roleLabel are labels of every pod of a JobSet (jobset/api/jobset/v1alpha2). The JobSet of a
	// TrainJob has the same name as the TrainJob.
	JobSetLabel = "jobset.sigs.k8s.io/jobset-name"
	roleLabel   = "jobset.sigs.k8s.io/replicatedjob-name"
)

// Pod is a pod of a TrainJob.
type Pod struct {
	// Role is Launcher, Node, or the name of another ReplicatedJob, such as an initializer.
	Role Role
	// Index is the number of the pod within its role, counted from 0.
	Index int
	corev1.Pod
}

// String returns the role of the pod, for example "launcher". For a node, String adds the index, for example "node 3".
func (p Pod) String() string {
	if p.Role == Node {
		return fmt.Sprintf("node %d", p.Index)
	}
	return string(p.Role)
}

// Snapshot is a TrainJob and its pods at one moment.
type Snapshot struct {
	Job trainer.TrainJob
	// Pods lists the pods, sorted by role and index. The launcher comes first, then the nodes, and then all other pods.
	Pods []Pod
	// Wanted holds the numbers of pods that the JobSet requests, or nil if they are unknown.
	Wanted WantedPods
	// Now is the time at which the TrainJob and its pods were read. If Now is zero, isLost returns false for all pods.
	Now time.Time
	// Workload is the state of the TrainJob in a queue of Kueue, or nil if it is unknown.
	Workload *Workload
}

// Get reads a TrainJob and its pods.
func (j Jobs) Get(ctx context.Context, key types.NamespacedName) (Snapshot, error) {
	var snapshot Snapshot
	if err := j.trainer.Get().Namespace(key.Namespace).Resource("trainjobs").Name(key.Name).Do(ctx).Into(&snapshot.Job); err != nil {
		return snapshot, fmt.Errorf("reading TrainJob %s: %w", key, err)
	}
	var pods corev1.PodList
	ofJob := labels.Set{JobSetLabel: key.Name}.String()
	if err := j.core.Get().Namespace(key.Namespace).Resource("pods").Param("labelSelector", ofJob).Do(ctx).Into(&pods); err != nil {
		return snapshot, fmt.Errorf("listing the pods of TrainJob %s: %w", key, err)
	}
	snapshot = MakeSnapshot(snapshot.Job, pods.Items)
	snapshot.Now = time.Now()
	return snapshot, nil
}

// MakeSnapshot returns the snapshot of a TrainJob. The argument "pods" contains all pods whose label JobSetLabel is the name
// of the TrainJob.
func MakeSnapshot(job trainer.TrainJob, pods []corev1.Pod) Snapshot {
	snapshot := Snapshot{Job: job}
	for _, pod := range pods {
		// Pods that are older than the TrainJob are left out. They belong to a deleted TrainJob
		// with the same name, and are not deleted yet.
		if !pod.CreationTimestamp.Before(&job.CreationTimestamp) {
			snapshot.Pods = append(snapshot.Pods, podOf(pod))
		}
	}
	slices.SortFunc(snapshot.Pods, comparePods)
	return snapshot
}

// Names returns the names of all TrainJobs in a namespace, in alphabetical order.
func (j Jobs) Names(ctx context.Context, namespace string) ([]string, error) {
	var all trainer.TrainJobList
	if err := j.trainer.Get().Namespace(namespace).Resource("trainjobs").Do(ctx).Into(&all); err != nil {
		return nil, fmt.Errorf("listing the TrainJobs in namespace %s: %w", namespace, err)
	}
	names := make([]string, len(all.Items))
	for i := range all.Items {
		names[i] = all.Items[i].Name
	}
	slices.Sort(names)
	return names, nil
}

func podOf(pod corev1.Pod) Pod {
	// A pod without an index is the only pod of its role. In this case, Atoi returns 0, which is the right index.
	index, _ := strconv.Atoi(pod.Annotations[batchv1.JobCompletionIndexAnnotation])
	return Pod{Role: Role(pod.Labels[roleLabel]), Index: index, Pod: pod}
}

// rank returns the sort key of a role. The launcher has the highest key, followed by nodes, and
// then by all other roles.
func rank(r Role) int { return slices.Index([]Role{Node, Launcher}, r) }

func comparePods(a, b Pod) int {
	return cmp.Or(
		-cmp.Compare(rank(a.Role), rank(b.Role)), cmp.Compare(a.Role, b.Role),
		cmp.Compare(a.Index, b.Index), a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
		cmp.Compare(a.Name, b.Name),
	)
}

// LatestAttempts returns the pods of the current run, sorted by role and index. If a Job retries, several pods have the same
// role and index, and LatestAttempts returns only the latest of them. Pods of an earlier run, which are being deleted, are
// left out.
func (s Snapshot) LatestAttempts() []Pod {
	current := slices.DeleteFunc(slices.Clone(s.Pods), s.isLeftOver)
	sorted := slices.SortedFunc(slices.Values(current), comparePods)
	var latest []Pod
	for i, pod := range sorted {
		last := i+1 == len(sorted)
		if last || sorted[i+1].Role != pod.Role || sorted[i+1].Index != pod.Index {
			latest = append(latest, pod)
		}
	}
	return latest
}

// isLeftOver reports whether a pod belongs to an earlier run of a TrainJob that was suspended and resumed. Such a pod can
// run for hours, while its ranks save their work.
func (s Snapshot) isLeftOver(p Pod) bool {
	if p.DeletionTimestamp == nil || s.isSuspended() {
		return false
	}
	if meta.IsStatusConditionTrue(s.Job.Status.Conditions, trainer.TrainJobSuspended) {
		return true
	}
	// A pod belongs to an earlier run if its deletion was requested before the TrainJob was resumed. The
	// deletion timestamp is the time of this request plus the grace period.
	grace := time.Duration(ptr.Deref(p.DeletionGracePeriodSeconds, 0)) * time.Second
	resumed := s.resumedAt()
	return p.CreationTimestamp.Time.Before(resumed) && !p.DeletionTimestamp.Add(-grace).After(resumed)
}

// lostTime is how long a deleted pod may exist after its grace period. A pod that exists longer counts as lost.
const lostTime = time.Minute

// isLost reports whether a pod counts as lost. A pod counts as lost if it is being deleted, and its grace period ended
// more than lostTime ago. The kubelet normally reports when a pod has ended. For a lost pod, this report is missing, in
// most cases because the cluster node of the pod is down. The status of a lost pod is outdated: it can say for days
// that the containers run.
func (s Snapshot) isLost(p Pod) bool {
	return p.DeletionTimestamp != nil && !s.Now.IsZero() && s.Now.Sub(p.DeletionTimestamp.Time) > lostTime
}

// HasEndingPods reports whether a pod is being deleted.
func (s Snapshot) HasEndingPods() bool { return s.endingPods() > 0 }

// endingPods returns the number of pods that are being deleted.
func (s Snapshot) endingPods() (n int) {
	for _, pod := range s.Pods {
		if pod.DeletionTimestamp != nil {
			n++
		}
	}
	return n
}

// AwaitsPodEnds returns true if two conditions are met: old pods are being deleted, and pods of the current
// run are missing. In this case, JobSet possibly waits for the old pods to end, and creates the missing
// pods afterwards.
func (s Snapshot) AwaitsPodEnds() bool {
	return s.endingPods() > 0 && (s.missingPods() > 0 || len(s.unfinishedPods()) == 0)
}

// ManagedElsewhere reports whether another cluster runs the TrainJob, for example with MultiKueue. A TrainJob that another
// cluster runs has no pods in this cluster.
func (s Snapshot) ManagedElsewhere() bool {
	return ptr.Deref(s.Job.Spec.ManagedBy, v1alpha1.TrainJobController) != v1alpha1.TrainJobController
}

// unfinishedPods returns the pods of LatestAttempts, except pods of completed initializers. Pods of completed
// initializers hold no resources, but they still exist, because JobSet does not delete them.
func (s Snapshot) unfinishedPods() []Pod {
	return slices.DeleteFunc(s.LatestAttempts(), func(p Pod) bool {
		return p.Role != Launcher && p.Role != Node && p.Status.Phase == corev1.PodSucceeded
	})
}

// PodsOf returns the pods of a role.
func (s Snapshot) PodsOf(role Role) []Pod {
	var found []Pod
	for _, pod := range s.Pods {
		if pod.Role == role {
			found = append(found, pod)
		}
	}
	return found
}

// Outcome is the final condition of a TrainJob, or the zero Outcome if the TrainJob has not ended.
type Outcome struct {
	// Condition is trainer.TrainJobComplete or trainer.TrainJobFailed.
	Condition string
	// Reason and Message hold the reason and the message that Trainer wrote into the condition.
	Reason, Message string
}

// Outcome reads the outcome of a TrainJob from the conditions of the TrainJob.
func (s Snapshot) Outcome() Outcome {
	for _, name := range []string{trainer.TrainJobComplete, trainer.TrainJobFailed} {
		if c := meta.FindStatusCondition(s.Job.Status.Conditions, name); c != nil && c.Status == "True" {
			return Outcome{Condition: name, Reason: c.Reason, Message: c.Message}
		}
	}
	return Outcome{}
}
