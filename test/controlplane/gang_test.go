package controlplane_test

import (
	"context"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard/test/controlplane"
	"github.com/trainyard/trainyard/test/repo"
)

// TestCoschedulingWaitsForAllPods checks the PodGroup that Trainer creates for a TrainJob. The test also checks
// the scheduler of the pods, and the pod label that names the PodGroup.
func TestCoschedulingWaitsForAllPods(t *testing.T) {
	expectGang(t, "coscheduling.yaml", gang{
		group:     schema.GroupVersionKind{Group: "scheduling.x-k8s.io", Version: "v1alpha1", Kind: "PodGroup"},
		scheduler: "scheduler-plugins-scheduler",
		spec:      map[string]any{"minMember": int64(4), "scheduleTimeoutSeconds": int64(60)},
		podGroup:  func(labels, _ map[string]string) string { return labels["scheduling.x-k8s.io/pod-group"] },
	})
}

// TestVolcanoWaitsForAllPodsWithStubCRD checks the PodGroup that Trainer creates for a TrainJob. The test also
// checks the scheduler of the pods, and the pod annotation that names the PodGroup. The control plane has a minimal
// CRD of PodGroup, which accepts all fields.
func TestVolcanoWaitsForAllPodsWithStubCRD(t *testing.T) {
	expectGang(t, "volcano.yaml", gang{
		group:     schema.GroupVersionKind{Group: "scheduling.volcano.sh", Version: "v1beta1", Kind: "PodGroup"},
		scheduler: "volcano",
		spec:      map[string]any{"minMember": int64(4)},
		podGroup:  func(_, annotations map[string]string) string { return annotations["scheduling.k8s.io/group-name"] },
	})
}

// TestVolcanoExampleJob submits examples/jobs/volcano.yaml, and checks the queue of the PodGroup that Trainer creates.
// The control plane has a minimal CRD that accepts any PodGroup, because no Go module contains the CRD of Volcano.
func TestVolcanoExampleJob(t *testing.T) {
	onVersionsWithControllers(t, func(t *testing.T, v version, cp *controlplane.ControlPlane) {
		if v.trainer == "trainer-2.1" {
			t.Skip("the example needs Trainer 2.2 or later, because it sets runtimePatches")
		}
		installRuntime(t, cp, generateExample(t, "minimal", v, "volcano.yaml")[""][0])
		text, err := os.ReadFile(repo.Path(t, "examples/jobs/volcano.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		job := &trainer.TrainJob{}
		if err := yaml.UnmarshalStrict(text, job); err != nil {
			t.Fatal(err)
		}
		job.Namespace = cp.Namespace(t)
		apply(t, cp, job)
		group := &unstructured.Unstructured{}
		group.SetGroupVersionKind(schema.GroupVersionKind{Group: "scheduling.volcano.sh", Version: "v1beta1", Kind: "PodGroup"})
		controlplane.Eventually(t, func(ctx context.Context) error {
			return cp.Client().Get(ctx, client.ObjectKeyFromObject(job), group)
		})
		if queue, _, _ := unstructured.NestedString(group.Object, "spec", "queue"); queue != "training" {
			t.Errorf("the PodGroup has the queue %q, want training", queue)
		}
	})
}

// gang describes the objects and fields that a gang scheduler reads.
type gang struct {
	group     schema.GroupVersionKind
	scheduler string
	spec      map[string]any                                     // expected fields of the PodGroup's spec
	podGroup  func(labels, annotations map[string]string) string // returns the name of the PodGroup to which a pod belongs
}

func expectGang(t *testing.T, layer string, want gang) {
	t.Helper()
	onVersionsWithControllers(t, func(t *testing.T, v version, cp *controlplane.ControlPlane) {
		runtime := generateExample(t, "minimal", v, layer)[""][0]
		installRuntime(t, cp, runtime)
		job := newJob(runtime, "gang", cp.Namespace(t)).Nodes(4).Obj()
		apply(t, cp, job)
		created := waitForOutcome(t, cp, client.ObjectKeyFromObject(job))
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
		for _, role := range created.jobSet.Spec.ReplicatedJobs {
			pod := role.Template.Spec.Template
			if got := want.podGroup(pod.Labels, pod.Annotations); got != job.Name || pod.Spec.SchedulerName != want.scheduler {
				t.Errorf("%s: scheduler is %q and PodGroup %q, want %q and %q", role.Name, pod.Spec.SchedulerName, got, want.scheduler, job.Name)
			}
		}
	})
}
