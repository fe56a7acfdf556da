package controlplane_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/test/controlplane"
)

// allPermissions lists requests that a user could send. Requests with the prefix "cluster " refer to the whole
// cluster, and other requests refer to a namespace.
var allPermissions = []string{
	"create trainjobs.trainer.kubeflow.org", "list trainjobs.trainer.kubeflow.org", "patch trainjobs.trainer.kubeflow.org",
	"delete trainjobs.trainer.kubeflow.org", "deletecollection trainjobs.trainer.kubeflow.org",
	"list trainingruntimes.trainer.kubeflow.org", "create trainingruntimes.trainer.kubeflow.org", "patch trainingruntimes.trainer.kubeflow.org",
	"list jobsets.jobset.x-k8s.io", "create jobsets.jobset.x-k8s.io", "delete jobsets.jobset.x-k8s.io",
	"list pods", "create pods", "delete pods", "get pods/log", "create pods/exec", "create pods/portforward", "update pods/ephemeralcontainers",
	"list events", "get resourcequotas", "update resourcequotas", "list persistentvolumeclaims", "create persistentvolumeclaims",
	"get secrets", "list secrets", "create secrets", "get configmaps", "create serviceaccounts/token", "impersonate serviceaccounts",
	"create rolebindings.rbac.authorization.k8s.io", "update roles.rbac.authorization.k8s.io", "delete namespaces",
	// With the following requests, a user could bypass the admission rules and network policies. The requests change
	// the parameters of policies, the labels by which policies select objects, or objects that Trainer and Kueue
	// trust.
	"update trainjobs.trainer.kubeflow.org/status", "update trainjobs.trainer.kubeflow.org/finalizers", "update configmaps", "create configmaps",
	"create pods/attach", "create pods/proxy", "create pods/eviction", "create jobs.batch", "create services",
	"create networkpolicies.networking.k8s.io", "delete networkpolicies.networking.k8s.io", "patch namespaces", "delete limitranges",
	// The remaining requests are for TrainJobSources, for objects that trainyard's controller uses, for Kueue, for
	// RBAC, and for the whole cluster.
	"list trainjobsources.trainyard.dev", "create trainjobsources.trainyard.dev", "update trainjobsources.trainyard.dev",
	"patch trainjobsources.trainyard.dev", "delete trainjobsources.trainyard.dev", "deletecollection trainjobsources.trainyard.dev",
	"update trainjobsources.trainyard.dev/status", "update trainjobsources.trainyard.dev/finalizers",
	"list configmaps", "patch configmaps", "delete configmaps", "create events", "create events.events.k8s.io", "get leases.coordination.k8s.io",
	"update leases.coordination.k8s.io", "watch secrets", "update serviceaccounts",
	"cluster list trainjobs.trainer.kubeflow.org", "cluster list trainjobsources.trainyard.dev", "cluster impersonate serviceaccounts",
	"cluster create trainjobs.trainer.kubeflow.org", "cluster get secrets", "cluster list configmaps",
	"list localqueues.kueue.x-k8s.io", "list workloads.kueue.x-k8s.io", "create localqueues.kueue.x-k8s.io", "patch workloads.kueue.x-k8s.io", "bind roles.rbac.authorization.k8s.io", "escalate roles.rbac.authorization.k8s.io",
	"cluster impersonate users", "cluster impersonate groups", "cluster bind clusterroles.rbac.authorization.k8s.io",
	"cluster patch validatingadmissionpolicybindings.admissionregistration.k8s.io",
	"cluster list clustertrainingruntimes.trainer.kubeflow.org", "cluster create clustertrainingruntimes.trainer.kubeflow.org",
	"cluster list namespaces", "cluster list pods", "cluster list secrets",
}

var (
	viewPermissions = []string{
		"list trainjobs.trainer.kubeflow.org", "list trainingruntimes.trainer.kubeflow.org", "list jobsets.jobset.x-k8s.io",
		"list pods", "get pods/log", "list events", "get resourcequotas", "list persistentvolumeclaims",
		"list localqueues.kueue.x-k8s.io", "list workloads.kueue.x-k8s.io", "list trainjobsources.trainyard.dev",
		"cluster list clustertrainingruntimes.trainer.kubeflow.org",
	}
	trainPermissions = append([]string{
		"create trainjobs.trainer.kubeflow.org", "patch trainjobs.trainer.kubeflow.org", "delete trainjobs.trainer.kubeflow.org",
		"delete jobsets.jobset.x-k8s.io", "create trainjobsources.trainyard.dev", "update trainjobsources.trainyard.dev",
		"patch trainjobsources.trainyard.dev", "delete trainjobsources.trainyard.dev",
	}, viewPermissions...)
	managePermissions = append([]string{
		"create trainingruntimes.trainer.kubeflow.org", "patch trainingruntimes.trainer.kubeflow.org",
	}, trainPermissions...)
)

// TestTenantsHaveOnlyTheirRolesPermissions checks a user's permissions in their own namespace, in another tenant's
// namespace, and in the whole cluster.
func TestTenantsHaveOnlyTheirRolesPermissions(t *testing.T) {
	cp := controlplane.Start(t)
	applyAcme(t, cp)
	for name, tc := range map[string]struct {
		user, group, namespace string
		want                   []string
	}{
		"an editor in its own namespace":                {"eve", "vision", "team-vision", trainPermissions},
		"an editor in another team's namespace":         {"eve", "vision", "team-speech", clusterWide(trainPermissions)},
		"a viewer in its own namespace":                 {"carol@acme.example", "", "team-vision", viewPermissions},
		"a viewer of two teams, in the second":          {"ann", "audit", "team-physics", viewPermissions},
		"a viewer in the namespace of a third team":     {"ann", "audit", "team-speech", clusterWide(viewPermissions)},
		"an editor of a team with its own runtimes":     {"fay", "physics", "team-physics", managePermissions},
		"a ServiceAccount as an editor":                 {"system:serviceaccount:team-speech:pipeline", "", "team-speech", trainPermissions},
		"a ServiceAccount of that name in another team": {"system:serviceaccount:team-vision:pipeline", "", "team-speech", nil},
		"an unknown user":                               {"mallory", "", "team-vision", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := listPermissions(t, cp, tc.user, tc.group, tc.namespace)
			want := slices.Sorted(slices.Values(tc.want))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("permissions: -want +got:\n%s", diff)
			}
		})
	}
}

func clusterWide(permissions []string) []string {
	return slices.DeleteFunc(slices.Clone(permissions), func(p string) bool { return !strings.HasPrefix(p, "cluster ") })
}

func listPermissions(t *testing.T, cp *controlplane.ControlPlane, user, group, namespace string) []string {
	t.Helper()
	var found []string
	for _, permission := range allPermissions {
		if isAllowed(t, cp, user, group, namespace, permission) {
			found = append(found, permission)
		}
	}
	slices.Sort(found)
	return found
}

func isAllowed(t *testing.T, cp *controlplane.ControlPlane, user, group, namespace, permission string) bool {
	t.Helper()
	if rest, ok := strings.CutPrefix(permission, "cluster "); ok {
		namespace, permission = "", rest
	}
	verb, resource, _ := strings.Cut(permission, " ")
	resource, subresource, _ := strings.Cut(resource, "/")
	resource, apiGroup, _ := strings.Cut(resource, ".")
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user, Groups: []string{"system:authenticated"},
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: verb, Group: apiGroup, Resource: resource, Subresource: subresource},
	}}
	if group != "" {
		review.Spec.Groups = append(review.Spec.Groups, group)
	}
	if err := cp.Client().Create(t.Context(), review); err != nil {
		t.Fatal(err)
	}
	return review.Status.Allowed
}

// TestContainersGetDefaultRequests checks that containers without requests get the default requests of the tenant.
// If a container had no requests, the quota would refuse its pod. If a container sets a request or a limit of its
// own, the default must not replace it.
func TestContainersGetDefaultRequests(t *testing.T) {
	cp := controlplane.Start(t, controlplane.Pods())
	namespace := cp.Namespace(t)
	applyWithQuota(t, cp, fmt.Sprintf(`{apiVersion: trainyard.dev/v1alpha1, kind: Platform, metadata: {name: defaults}, spec: {
		runtimes: {mpi: {from: openmpi-cpu, image: a}},
		tenants: {%s: {quota: {cpu: 8, memory: 16Gi}, containerDefaults: {cpu: 500m, memory: 1Gi}}}}}`, namespace))
	for name, tc := range map[string]struct{ given, want corev1.ResourceRequirements }{
		"nothing": {
			want: corev1.ResourceRequirements{Requests: parseAmounts("500m", "1Gi")},
		},
		"a request above the default": {
			given: corev1.ResourceRequirements{Requests: parseAmounts("", "8Gi")},
			want:  corev1.ResourceRequirements{Requests: parseAmounts("500m", "8Gi")},
		},
		"a limit below the default": {
			given: corev1.ResourceRequirements{Limits: parseAmounts("", "256Mi")},
			want:  corev1.ResourceRequirements{Limits: parseAmounts("", "256Mi"), Requests: parseAmounts("500m", "256Mi")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			notebook := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "notebook-"},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "localhost/none", Resources: tc.given}}},
			}
			controlplane.Eventually(t, func(ctx context.Context) error { // the API server reads LimitRanges from a cache
				created := notebook.DeepCopy()
				if err := cp.Client().Create(ctx, created, client.DryRunAll); err != nil {
					return err
				}
				if diff := cmp.Diff(tc.want, created.Spec.Containers[0].Resources); diff != "" {
					return fmt.Errorf("resources: -want +got:\n%s", diff)
				}
				return nil
			})
		})
	}
}

func parseAmounts(cpu, memory string) corev1.ResourceList {
	all := corev1.ResourceList{}
	for name, amount := range map[corev1.ResourceName]string{corev1.ResourceCPU: cpu, corev1.ResourceMemory: memory} {
		if amount != "" {
			all[name] = resource.MustParse(amount)
		}
	}
	return all
}
