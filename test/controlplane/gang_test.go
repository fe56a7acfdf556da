package controlplane_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/test/controlplane"
)

// TestCoschedulingWaitsForAllPods: Trainer makes a PodGroup of every pod of the job, and marks
// the pods; their scheduler is the runtime's to name.
func TestCoschedulingWaitsForAllPods(t *testing.T) {
	expectGang(t, "coscheduling.yaml", gang{
		group:     schema.GroupVersionKind{Group: "scheduling.x-k8s.io", Version: "v1alpha1", Kind: "PodGroup"},
		scheduler: "scheduler-plugins-scheduler",
		spec:      map[string]any{"minMember": int64(4), "scheduleTimeoutSeconds": int64(60)},
		mark:      func(labels, _ map[string]string) string { return labels["scheduling.x-k8s.io/pod-group"] },
	})
}

// TestVolcanoWaitsForAllPodsWithAStandInCRD: the same, but Volcano's own CRD cannot be had here.
func TestVolcanoWaitsForAllPodsWithAStandInCRD(t *testing.T) {
	expectGang(t, "volcano.yaml", gang{
		group:     schema.GroupVersionKind{Group: "scheduling.volcano.sh", Version: "v1beta1", Kind: "PodGroup"},
		scheduler: "volcano",
		spec:      map[string]any{"minMember": int64(4)},
		mark:      func(_, annotations map[string]string) string { return annotations["scheduling.k8s.io/group-name"] },
	})
}

// gang is what a gang scheduler needs to see.
type gang struct {
	group     schema.GroupVersionKind
	scheduler string
	spec      map[string]any                                     // of the PodGroup, among other fields
	mark      func(labels, annotations map[string]string) string // the PodGroup that a pod names
}

func expectGang(t *testing.T, layer string, want gang) {
	t.Helper()
	whereJobsRun(t, func(t *testing.T, v version, cp *controlplane.ControlPlane) {
		runtime := generated(t, "minimal", v, layer)[""][0]
		known(t, cp, runtime)
		job := jobOf(runtime, "gang", cp.Namespace(t)).Nodes(4).Obj()
		apply(t, cp, job)
		made := waitForOutcome(t, cp, client.ObjectKeyFromObject(job))
		group := &unstructured.Unstructured{}
		group.SetGroupVersionKind(want.group)
		controlplane.Eventually(t, func(ctx context.Context) error {
			return cp.Client().Get(ctx, client.ObjectKeyFromObject(job), group)
		})
		spec, _, _ := unstructured.NestedMap(group.Object, "spec")
		for field, value := range want.spec {
			if diff := cmp.Diff(value, spec[field]); diff != "" {
				t.Errorf("PodGroup's %s: -want +got:\n%s", field, diff)
			}
		}
		for _, role := range made.jobSet.Spec.ReplicatedJobs {
			pod := role.Template.Spec.Template
			if got := want.mark(pod.Labels, pod.Annotations); got != job.Name || pod.Spec.SchedulerName != want.scheduler {
				t.Errorf("%s: scheduler %q places it with PodGroup %q, want %q and %q", role.Name, pod.Spec.SchedulerName, got, want.scheduler, job.Name)
			}
		}
	})
}
