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
)

// This file tests the scenarios of docs/scenarios.md that no other file tests.

func TestTeamsCannotTouchEachOthersTrainJobs(t *testing.T) {
	cp, job := twoTeams(t)
	south := memberClient(t, cp, "south-editors")
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "train-mpi-ssh-auth", Namespace: "north-team"}}
	for request, err := range map[string]error{
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
			t.Errorf("%s: %v, want it forbidden", request, err)
		}
	}
	if err := memberClient(t, cp, "north-editors").Delete(t.Context(), job); err != nil {
		t.Errorf("deleting the TrainJob as its own team: %v", err)
	}
}

// TestViewersCannotSubmitOrDeleteTrainJobs checks that a viewer cannot create or delete TrainJobs. The errors of the
// API server must name the missing permission.
func TestViewersCannotSubmitOrDeleteTrainJobs(t *testing.T) {
	cp, job := twoTeams(t)
	viewer := memberClient(t, cp, "north-viewers")
	if err := viewer.Get(t.Context(), client.ObjectKeyFromObject(job), job.DeepCopy()); err != nil {
		t.Errorf("reading the TrainJob as a viewer: %v", err)
	}
	for verb, err := range map[string]error{
		"create": viewer.Create(t.Context(), jobFor("other", "north")),
		"delete": viewer.Delete(t.Context(), job.DeepCopy()),
	} {
		want := fmt.Sprintf(`User "ann" cannot %s resource "trainjobs" in API group "trainer.kubeflow.org" in the namespace "north-team"`, verb)
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want it forbidden, with the message %s", verb, err, want)
		}
	}
}

// twoTeams applies two platforms with one team each, and submits a TrainJob as a member of the first team.
func twoTeams(t *testing.T) (*controlplane.ControlPlane, *unstructured.Unstructured) {
	t.Helper()
	cp := controlplane.Start(t, controlplane.CRDsOnly())
	for _, name := range []string{"north", "south"} {
		objs := platformNamed(t, name)
		createNamespaces(t, cp, objs)
		apply(t, cp, objs...)
	}
	job := jobFor("train", "north")
	controlplane.Eventually(t, func(ctx context.Context) error { return memberClient(t, cp, "north-editors").Create(ctx, job) })
	t.Cleanup(func() { _ = cp.Client().Delete(context.Background(), job) }) // the test may have deleted the TrainJob
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

func memberClient(t *testing.T, cp *controlplane.ControlPlane, group string) client.Client {
	return clientAs(t, cp, "ann", group, "system:authenticated")
}

// TestTrainJobsOverTheirQuotaAreRefused checks a scenario of docs/scenarios.md. A TrainJob has 4 nodes with 3
// GPUs and 20Gi of memory each, and exceeds the quota of 8 GPUs and 64Gi. `trainyard vet` must report the
// excess without a cluster, and the API server must refuse the pods that exceed the quota.
func TestTrainJobsOverTheirQuotaAreRefused(t *testing.T) {
	cp := controlplane.Start(t, controlplane.Pods())
	namespace := cp.Namespace(t)
	document := fmt.Sprintf(`{apiVersion: trainyard.dev/v1alpha1, kind: Platform, metadata: {name: quota}, spec: {
		runtimes: {mpi: {from: openmpi-gpu, image: a, numNodes: 4, resources: {nvidia.com/gpu: 3, memory: 20Gi}}},
		tenants: {%s: {runtimes: [mpi], quota: {nvidia.com/gpu: 8, memory: 64Gi}}}}}`, namespace)
	platforms, err := generator.New(trainyard.CUE).Generate(t.Context(), requestOf(document))
	if err != nil {
		t.Fatal(err)
	}
	if notes := platforms[0].Notes.Error(); !strings.Contains(notes, "has 4 nodes and requests 12 of nvidia.com/gpu") {
		t.Errorf("vet reports %s, want a note about 12 GPUs", notes)
	}
	applyWithQuota(t, cp, document)
	expectQuotaExceeded(t, cp, namespace, 4, "exceeded quota: trainyard, requested: requests.nvidia.com/gpu=3, used: requests.nvidia.com/gpu=6, limited: requests.nvidia.com/gpu=8")
}
