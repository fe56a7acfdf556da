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

// TestPolicyNamesAreInvalidTrainJobNames checks that our policies cannot collide with policies named after
// TrainJobs, such as those of Open Data Hub's operator.
func TestPolicyNamesAreInvalidTrainJobNames(t *testing.T) {
	onVersionsWithControllers(t, func(t *testing.T, _ version, cp *controlplane.ControlPlane) {
		for name := range networkPolicies(t) {
			job := build.MakeTrainJob(name, "default").Runtime("any").Obj()
			err := cp.Client().Create(t.Context(), job, client.DryRunAll)
			if err == nil || !strings.Contains(err.Error(), "metadata.name must match RFC 1035") {
				t.Errorf("creating a TrainJob named %s: %v, want an error about its name", name, err)
			}
		}
	})
}

// TestNetworkPoliciesSelectPodsOfJobs checks that JobSet sets the label that network policies select by on
// all pods of a job.
func TestNetworkPoliciesSelectPodsOfJobs(t *testing.T) {
	withJobPods(t, func(t *testing.T, pod metav1.ObjectMeta) {
		for name, policy := range networkPolicies(t) {
			selector, err := metav1.LabelSelectorAsSelector(&policy.Spec.PodSelector)
			if err != nil || !selector.Matches(labels.Set(pod.Labels)) {
				t.Errorf("%s does not select %v: %v", name, pod.Labels, err)
			}
		}
	})
}

// TestIstioServiceMeshConflicts checks that Istio injects no proxy into pods of jobs, where it would
// prevent the pods from ending and SSH from connecting. Istio reads the label, older versions the
// annotation.
func TestIstioServiceMeshConflicts(t *testing.T) {
	withJobPods(t, func(t *testing.T, pod metav1.ObjectMeta) {
		const inject = "sidecar.istio.io/inject"
		if pod.Labels[inject] != "false" || pod.Annotations[inject] != "false" {
			t.Errorf("labels %v, annotations %v: want %s=\"false\" in both", pod.Labels, pod.Annotations, inject)
		}
	})
}

// withJobPods runs a test with the pod template of each role of a TrainJob, as the controllers create it.
func withJobPods(t *testing.T, test func(*testing.T, metav1.ObjectMeta)) {
	onVersionsWithControllers(t, func(t *testing.T, _ version, cp *controlplane.ControlPlane) {
		runtimes := mpiRuntimes(readObjects(t, "../../bundles/rendered/minimal/plain/manifests.yaml"))
		namespace := jobNamespace(t, cp, runtimes[0])
		installRuntime(t, cp, runtimes[0])
		job := newJob(runtimes[0], "allreduce", namespace).Obj()
		apply(t, cp, job)
		created := waitForOutcome(t, cp, client.ObjectKeyFromObject(job))
		for role, meta := range map[string]metav1.ObjectMeta{
			"launcher": created.launcher.Spec.Template.ObjectMeta,
			"node":     created.node.Spec.Template.ObjectMeta,
		} {
			t.Run(role, func(t *testing.T) { test(t, meta) })
		}
	})
}

// networkPolicies returns the network policies of an example that has every policy, by name.
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
		t.Fatalf("found %d network policies, want at least 6", len(found))
	}
	return found
}
