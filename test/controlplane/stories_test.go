package controlplane_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/test/controlplane"
	"github.com/trainyard/trainyard/test/upstream"
)

// Tests of the stories of docs/scenarios.md that no other file is about.

// TestTeamsCannotTouchEachOthersTrainJobs, whatever they ask the API server for.
func TestTeamsCannotTouchEachOthersTrainJobs(t *testing.T) {
	cp, job := twoTeams(t)
	south := memberOf(t, cp, "south-editors")
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "train-mpi-ssh-auth", Namespace: "north-team"}}
	for what, err := range map[string]error{
		"get":         south.Get(t.Context(), client.ObjectKeyFromObject(job), job.DeepCopy()),
		"list":        south.List(t.Context(), listOf(job), client.InNamespace("north-team")),
		"list all":    south.List(t.Context(), listOf(job)),
		"patch":       south.Patch(t.Context(), job.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"suspend":true}}`))),
		"delete":      south.Delete(t.Context(), job.DeepCopy()),
		"create":      south.Create(t.Context(), jobFor("other", "north")),
		"its SSH key": south.Get(t.Context(), client.ObjectKeyFromObject(secret), secret),
		"its pods":    south.List(t.Context(), &corev1.PodList{}, client.InNamespace("north-team")),
	} {
		if !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v, want it forbidden", what, err)
		}
	}
	if err := memberOf(t, cp, "north-editors").Delete(t.Context(), job); err != nil {
		t.Errorf("its own team: %v", err)
	}
}

// TestViewersCannotSubmitOrDeleteTrainJobs, and the message says what they lack.
func TestViewersCannotSubmitOrDeleteTrainJobs(t *testing.T) {
	cp, job := twoTeams(t)
	viewer := memberOf(t, cp, "north-viewers")
	if err := viewer.Get(t.Context(), client.ObjectKeyFromObject(job), job.DeepCopy()); err != nil {
		t.Errorf("looking: %v", err)
	}
	for verb, err := range map[string]error{
		"create": viewer.Create(t.Context(), jobFor("other", "north")),
		"delete": viewer.Delete(t.Context(), job.DeepCopy()),
	} {
		want := fmt.Sprintf(`User "ann" cannot %s resource "trainjobs" in API group "trainer.kubeflow.org" in the namespace "north-team"`, verb)
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want it forbidden, and to say %s", verb, err, want)
		}
	}
}

// twoTeams applies two platforms of a team each, and has the first submit a TrainJob.
func twoTeams(t *testing.T) (*controlplane.ControlPlane, *unstructured.Unstructured) {
	t.Helper()
	cp := controlplane.Start(t, controlplane.CRDsOnly())
	for _, name := range []string{"north", "south"} {
		objs := platformCalled(t, name)
		makeNamespaces(t, cp, objs)
		apply(t, cp, objs...)
	}
	job := jobFor("train", "north")
	controlplane.Eventually(t, func(ctx context.Context) error { return memberOf(t, cp, "north-editors").Create(ctx, job) })
	t.Cleanup(func() { _ = cp.Client().Delete(context.Background(), job) }) // which a test may have done
	return cp, job
}

func jobFor(name, platform string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: trainJob(name, platform+"-team", platform+"-mpi")}
}

func listOf(obj *unstructured.Unstructured) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(obj.GroupVersionKind())
	return list
}

// memberOf is somebody of a group.
func memberOf(t *testing.T, cp *controlplane.ControlPlane, group string) client.Client {
	t.Helper()
	config := cp.Config()
	config.Impersonate.UserName, config.Impersonate.Groups = "ann", []string{group, "system:authenticated"}
	c, err := upstream.Client(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestTrainJobsOverTheirQuotaAreRefused, with the numbers of the scenario: 8 GPUs and 64Gi, and a
// TrainJob of 4 nodes with 3 GPUs and 20Gi each. Before, vet says so of the platform.
func TestTrainJobsOverTheirQuotaAreRefused(t *testing.T) {
	cp := controlplane.Start(t, controlplane.Pods())
	namespace := cp.Namespace(t)
	document := fmt.Sprintf(`{apiVersion: trainyard.dev/v1alpha1, kind: Platform, metadata: {name: quota}, spec: {
		runtimes: {bounded: {from: openmpi-gpu, image: a, numNodes: 4, resources: {nvidia.com/gpu: 3, memory: 20Gi}}},
		tenants: {%s: {runtimes: [bounded], quota: {nvidia.com/gpu: 8, memory: 64Gi}}}}}`, namespace)
	platforms, err := generator.New(trainyard.CUE).Generate(t.Context(), bounded(document))
	if err != nil {
		t.Fatal(err)
	}
	if said := platforms[0].Notes.Error(); !strings.Contains(said, "its default TrainJob of 4 nodes asks for 12 ") {
		t.Errorf("vet says %s", said)
	}
	applyBounded(t, cp, document)
	overfill(t, cp, namespace, 4, "exceeded quota: trainyard, requested: requests.nvidia.com/gpu=3, used: requests.nvidia.com/gpu=6, limited: requests.nvidia.com/gpu=8")
}
