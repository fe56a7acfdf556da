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

// everything is what somebody could want in a namespace or, with "cluster " before it, of the
// whole cluster.
var everything = []string{
	"create trainjobs.trainer.kubeflow.org", "list trainjobs.trainer.kubeflow.org", "patch trainjobs.trainer.kubeflow.org",
	"delete trainjobs.trainer.kubeflow.org", "deletecollection trainjobs.trainer.kubeflow.org",
	"list trainingruntimes.trainer.kubeflow.org", "create trainingruntimes.trainer.kubeflow.org", "patch trainingruntimes.trainer.kubeflow.org",
	"list jobsets.jobset.x-k8s.io", "create jobsets.jobset.x-k8s.io", "delete jobsets.jobset.x-k8s.io",
	"list pods", "create pods", "delete pods", "get pods/log", "create pods/exec", "create pods/portforward", "update pods/ephemeralcontainers",
	"list events", "get resourcequotas", "update resourcequotas", "list persistentvolumeclaims", "create persistentvolumeclaims",
	"get secrets", "list secrets", "create secrets", "get configmaps", "create serviceaccounts/token", "impersonate serviceaccounts",
	"create rolebindings.rbac.authorization.k8s.io", "update roles.rbac.authorization.k8s.io", "delete namespaces",
	// Ways around the rules: what they read, who is held to them, and what Trainer and Kueue take for granted.
	"update trainjobs.trainer.kubeflow.org/status", "update trainjobs.trainer.kubeflow.org/finalizers", "update configmaps", "create configmaps",
	"create pods/attach", "create pods/proxy", "create pods/eviction", "create jobs.batch", "create services",
	"create networkpolicies.networking.k8s.io", "delete networkpolicies.networking.k8s.io", "patch namespaces", "delete limitranges",
	"list localqueues.kueue.x-k8s.io", "list workloads.kueue.x-k8s.io", "create localqueues.kueue.x-k8s.io", "patch workloads.kueue.x-k8s.io", "bind roles.rbac.authorization.k8s.io", "escalate roles.rbac.authorization.k8s.io",
	"cluster impersonate users", "cluster impersonate groups", "cluster bind clusterroles.rbac.authorization.k8s.io",
	"cluster patch validatingadmissionpolicybindings.admissionregistration.k8s.io",
	"cluster list clustertrainingruntimes.trainer.kubeflow.org", "cluster create clustertrainingruntimes.trainer.kubeflow.org",
	"cluster list namespaces", "cluster list pods", "cluster list secrets",
}

var (
	mayLook = []string{
		"list trainjobs.trainer.kubeflow.org", "list trainingruntimes.trainer.kubeflow.org", "list jobsets.jobset.x-k8s.io",
		"list pods", "get pods/log", "list events", "get resourcequotas", "list persistentvolumeclaims",
		"list localqueues.kueue.x-k8s.io", "list workloads.kueue.x-k8s.io",
		"cluster list clustertrainingruntimes.trainer.kubeflow.org",
	}
	mayTrain = append([]string{
		"create trainjobs.trainer.kubeflow.org", "patch trainjobs.trainer.kubeflow.org", "delete trainjobs.trainer.kubeflow.org",
	}, mayLook...)
	mayManage = append([]string{
		"create trainingruntimes.trainer.kubeflow.org", "patch trainingruntimes.trainer.kubeflow.org",
	}, mayTrain...)
)

// TestTenantsMayDoWhatTheirRolesSay, and nothing else: in their own namespace, in that of another
// tenant, and in the cluster. The API server's own authorizer decides.
func TestTenantsMayDoWhatTheirRolesSay(t *testing.T) {
	cp := controlplane.Start(t)
	objs := readObjects(t, "../../bundles/rendered/acme/plain/prod/manifests.yaml")
	makeNamespaces(t, cp, objs)
	apply(t, cp, objs...)
	for name, tc := range map[string]struct {
		user, group, namespace string
		may                    []string
	}{
		"an editor at home":                          {"eve", "vision", "team-vision", mayTrain},
		"an editor at another team's":                {"eve", "vision", "team-speech", clusterWide(mayTrain)},
		"a viewer at home":                           {"carol@acme.example", "", "team-vision", mayLook},
		"a viewer of two teams, at the second":       {"ann", "audit", "team-physics", mayLook},
		"a viewer at a team that does not know her":  {"ann", "audit", "team-speech", clusterWide(mayLook)},
		"an editor who may have runtimes of her own": {"fay", "physics", "team-physics", mayManage},
		"a ServiceAccount that edits":                {"system:serviceaccount:team-speech:pipeline", "", "team-speech", mayTrain},
		"another team's of that name":                {"system:serviceaccount:team-vision:pipeline", "", "team-speech", nil},
		"a stranger":                                 {"mallory", "", "team-vision", nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, wish := range everything {
				if allowed(t, cp, tc.user, tc.group, tc.namespace, wish) {
					got = append(got, wish)
				}
			}
			slices.Sort(got)
			want := slices.Sorted(slices.Values(tc.may))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// clusterWide are the wishes that have nothing to do with a namespace.
func clusterWide(wishes []string) []string {
	return slices.DeleteFunc(slices.Clone(wishes), func(wish string) bool { return !strings.HasPrefix(wish, "cluster ") })
}

// allowed asks the API server whether somebody may do something.
func allowed(t *testing.T, cp *controlplane.ControlPlane, user, group, namespace, wish string) bool {
	t.Helper()
	if rest, is := strings.CutPrefix(wish, "cluster "); is {
		namespace, wish = "", rest
	}
	verb, what, _ := strings.Cut(wish, " ")
	what, subresource, _ := strings.Cut(what, "/")
	kind, apiGroup, _ := strings.Cut(what, ".")
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user, Groups: []string{"system:authenticated"},
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: verb, Group: apiGroup, Resource: kind, Subresource: subresource},
	}}
	if group != "" {
		review.Spec.Groups = append(review.Spec.Groups, group)
	}
	if err := cp.Client().Create(t.Context(), review); err != nil {
		t.Fatal(err)
	}
	return review.Status.Allowed
}

// TestAContainerThatSaysNothingGetsTheDefaults of its tenant, so that a quota does not refuse it.
func TestAContainerThatSaysNothingGetsTheDefaults(t *testing.T) {
	cp := controlplane.Start(t)
	objs := readObjects(t, "../../bundles/rendered/acme/plain/prod/manifests.yaml")
	makeNamespaces(t, cp, objs)
	apply(t, cp, objs...)
	notebook := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-vision", GenerateName: "notebook-"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "localhost/none"}}},
	}
	controlplane.Eventually(t, func(ctx context.Context) error { // the API server reads limits from a cache
		made := notebook.DeepCopy()
		if err := cp.Client().Create(ctx, made, client.DryRunAll); err != nil {
			return err
		}
		got := made.Spec.Containers[0].Resources
		want := corev1.ResourceList{"cpu": resource.MustParse("500m"), "memory": resource.MustParse("1Gi")}
		if diff := cmp.Diff(corev1.ResourceRequirements{Limits: want, Requests: want}, got); diff != "" {
			return fmt.Errorf("-want +got:\n%s", diff)
		}
		return nil
	})
}
