package controlplane_test

import (
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/test/build"
	"github.com/trainyard/trainyard/test/controlplane"
)

// TestNoTrainJobIsCalledLikeAPolicy: what makes a policy for each TrainJob, of the job's name, as Open
// Data Hub's operator does, never meets one of ours.
func TestNoTrainJobIsCalledLikeAPolicy(t *testing.T) {
	whereJobsRun(t, func(t *testing.T, _ version, cp *controlplane.ControlPlane) {
		for name := range networkPolicies(t) {
			job := build.MakeTrainJob(name, "default").Runtime("any").Obj()
			err := cp.Client().Create(t.Context(), job, client.DryRunAll)
			if err == nil || !strings.Contains(err.Error(), "metadata.name must match RFC 1035") {
				t.Errorf("a TrainJob called %s: %v, want it refused for its name", name, err)
			}
		}
	})
}

// TestPoliciesSelectThePodsOfJobs: JobSet puts the label that policies look for on all pods of a job.
func TestPoliciesSelectThePodsOfJobs(t *testing.T) {
	withPodsOfAJob(t, func(t *testing.T, pod metav1.ObjectMeta) {
		for name, policy := range networkPolicies(t) {
			selector, err := metav1.LabelSelectorAsSelector(&policy.Spec.PodSelector)
			if err != nil || !selector.Matches(labels.Set(pod.Labels)) {
				t.Errorf("%s does not select %v: %v", name, pod.Labels, err)
			}
		}
	})
}

// TestIstioServiceMeshConflicts is the edge case of that name: Istio leaves the pods of jobs alone.
// Its proxy would keep them from ending, and SSH from starting.
// Istio looks at the label, older ones at the annotation.
func TestIstioServiceMeshConflicts(t *testing.T) {
	withPodsOfAJob(t, func(t *testing.T, pod metav1.ObjectMeta) {
		const inject = "sidecar.istio.io/inject"
		if pod.Labels[inject] != "false" || pod.Annotations[inject] != "false" {
			t.Errorf("labels %v, annotations %v: want %s: \"false\" in both", pod.Labels, pod.Annotations, inject)
		}
	})
}

// withPodsOfAJob runs a test for the pods of each role of a TrainJob, as the controllers made their templates.
func withPodsOfAJob(t *testing.T, test func(*testing.T, metav1.ObjectMeta)) {
	whereJobsRun(t, func(t *testing.T, _ version, cp *controlplane.ControlPlane) {
		runtimes := mpiRuntimes(readObjects(t, "../../bundles/rendered/minimal/plain/manifests.yaml"))
		namespace := moved(t, cp, runtimes[0])
		known(t, cp, runtimes[0])
		job := jobOf(runtimes[0], "allreduce", namespace).Obj()
		apply(t, cp, job)
		made := waitForOutcome(t, cp, client.ObjectKeyFromObject(job))
		for role, meta := range map[string]metav1.ObjectMeta{
			"launcher": made.launcher.Spec.Template.ObjectMeta,
			"node":     made.node.Spec.Template.ObjectMeta,
		} {
			t.Run(role, func(t *testing.T) { test(t, meta) })
		}
	})
}

// networkPolicies are those of an example that has one of each name.
func networkPolicies(t *testing.T) map[string]*networkingv1.NetworkPolicy {
	t.Helper()
	found := map[string]*networkingv1.NetworkPolicy{}
	for _, obj := range readObjects(t, "../../bundles/rendered/acme/plain/prod/manifests.yaml") {
		if u := obj.(*unstructured.Unstructured); u.GetKind() == "NetworkPolicy" {
			policy := new(networkingv1.NetworkPolicy)
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, policy); err != nil {
				t.Fatal(err)
			}
			found[policy.Name] = policy
		}
	}
	if len(found) < 6 {
		t.Fatalf("found %d kinds of policies, want one of each", len(found))
	}
	return found
}
