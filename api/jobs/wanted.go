package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
)

// WantedPods are the numbers of pods that a JobSet requests, by role.
type WantedPods map[Role]Wanted

// Wanted is the number of pods that a JobSet requests for one role.
type Wanted struct {
	Pods int
	// Later is true if JobSet creates the pods only after the pods of another role have started or ended.
	Later bool
}

// CountWanted returns the numbers of pods that a JobSet requests.
func CountWanted(set *jobset.JobSet) WantedPods {
	wanted := WantedPods{}
	for _, r := range set.Spec.ReplicatedJobs {
		pods := r.Replicas * ptr.Deref(r.Template.Spec.Parallelism, 1)
		wanted[Role(r.Name)] = Wanted{Pods: int(pods), Later: len(r.DependsOn) > 0}
	}
	return wanted
}

// missingPods returns the number of missing pods. A pod counts as missing if JobSet should have created the pod by now,
// but the pod does not exist or is being deleted. Deleted pods of a Job that has succeeded, such as the Job of an
// initializer, do not count as missing.
func (s Snapshot) missingPods() int {
	exist, existed := map[Role]int{}, map[Role]bool{}
	for i := range s.Pods {
		existed[s.Pods[i].Role] = true
	}
	for _, pod := range s.LatestAttempts() {
		if pod.DeletionTimestamp == nil {
			exist[pod.Role]++
		}
	}
	missing := 0
	for role, wanted := range s.Wanted {
		if (existed[role] || !wanted.Later) && !s.hasSucceeded(role) {
			missing += max(0, wanted.Pods-exist[role])
		}
	}
	return missing
}

// hasAllPods reports whether all pods of a role exist. If it is unknown how many pods the JobSet requests, the result is
// false. Pods that failed or are being deleted do not count.
func (s Snapshot) hasAllPods(role Role) bool {
	exist := 0
	for _, pod := range s.LatestAttempts() {
		if pod.Role == role && pod.Status.Phase != corev1.PodFailed && pod.DeletionTimestamp == nil {
			exist++
		}
	}
	wanted, known := s.Wanted[role]
	return known && exist >= wanted.Pods
}

// hasSucceeded reports whether a Job of the role has succeeded.
func (s Snapshot) hasSucceeded(role Role) bool {
	return slices.ContainsFunc(s.Job.Status.JobsStatus, func(j trainer.JobStatus) bool {
		return j.Name == string(role) && ptr.Deref(j.Succeeded, 0) > 0
	})
}

// LacksPods reports whether at least one pod is missing. A pod counts as missing if JobSet should have created the pod
// by now, but the pod does not exist or is being deleted. If a Job has succeeded, its deleted pods do not count as
// missing.
func (s Snapshot) LacksPods() bool { return s.missingPods() > 0 }

// wantedPods reads the numbers of pods from the JobSet of a TrainJob. The result is nil if the JobSet does not exist yet, or
// if the user may not read it.
func (j Jobs) wantedPods(ctx context.Context, key types.NamespacedName) (WantedPods, error) {
	text, err := j.core.Get().AbsPath("/apis", jobset.GroupVersion.Group, jobset.GroupVersion.Version, "namespaces", key.Namespace, "jobsets", key.Name).DoRaw(ctx)
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading JobSet %s: %w", key, err)
	}
	var set jobset.JobSet
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, fmt.Errorf("reading JobSet %s: %w", key, err)
	}
	return CountWanted(&set), nil
}
