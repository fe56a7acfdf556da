package controlplane_test

import (
	"fmt"
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
	"github.com/trainyard/trainyard/test/matrix"
)

// TestPolicyNamesAreInvalidTrainJobNames checks that no TrainJob can have the name of a generated network policy. Some
// operators, such as Open Data Hub's operator, create a network policy for each TrainJob, with the name of the
// TrainJob. The network policies of these operators can therefore never have the name of a generated network policy.
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

// TestNetworkPoliciesSelectPodsOfJobs checks that every generated network policy selects the launcher and the nodes of
// TrainJobs. The policies select pods by a label that JobSet sets.
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

// TestExceptionsOfNetworksAreApplied generates a network policy from several networks (cidrs) and several excluded
// networks (except). The API server must accept the policy. The API server accepts an excluded network only inside the
// network of the same ipBlock.
func TestExceptionsOfNetworksAreApplied(t *testing.T) {
	cp := controlplane.Start(t)
	objs := generateDocument(t, fmt.Sprintf(`{apiVersion: trainyard.dev/v1alpha1, kind: Platform, metadata: {name: except}, spec: {
		admission: {enforce: none}, runtimes: {mpi: {from: mpich, image: a}}, tenants: {%s: {egress: {web: {
			cidrs: [0.0.0.0/0, "::/0"], except: [10.0.0.0/8, 169.254.169.254/32, "fc00::/7"], tcp: [443]}}}}}}`, cp.Namespace(t)))
	expectApplied(t, cp, objs)
}

// TestIstioServiceMeshConflicts checks the label and the annotation that keep Istio from injecting a proxy into pods
// of jobs. The proxy would break SSH connections, and would continue to run after the other containers have
// completed. Newer versions of Istio read the label, and older versions of Istio read the annotation.
func TestIstioServiceMeshConflicts(t *testing.T) {
	withJobPods(t, func(t *testing.T, pod metav1.ObjectMeta) {
		const inject = "sidecar.istio.io/inject"
		if pod.Labels[inject] != "false" || pod.Annotations[inject] != "false" {
			t.Errorf("labels %v, annotations %v: want %s=\"false\" in both", pod.Labels, pod.Annotations, inject)
		}
	})
}

// withJobPods creates a TrainJob, and calls "test" once for the launcher's pod template and once for the
// nodes' pod template.
func withJobPods(t *testing.T, test func(*testing.T, metav1.ObjectMeta)) {
	onVersionsWithControllers(t, func(t *testing.T, _ version, cp *controlplane.ControlPlane) {
		runtimes := matrix.Runtimes(readObjects(t, "../../bundles/rendered/minimal/plain/manifests.yaml"))
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

// networkPolicies returns the network policies of the example acme. The example contains every type of network policy
// that trainyard can generate.
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
