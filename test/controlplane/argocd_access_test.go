package controlplane_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/generator/object"
	"github.com/trainyard/trainyard/test/controlplane"
)

var applicationController = client.ObjectKey{Namespace: "openshift-gitops", Name: "openshift-gitops-argocd-application-controller"}

// byOpenShiftGitOps is a layer for the platform document fixedUsers. With this layer, OpenShift
// GitOps delivers the platform to the cluster in which OpenShift GitOps itself runs. The tenant
// scc-team-a gets all roles that a tenant can have.
const byOpenShiftGitOps = `
spec:
  target: {gang: kueue, kueue: "0.19"}
  controller: {enabled: true}
  delivery: {argocd: {repoURL: https://git.acme.example/platform.git%s}}
  queues: {clusterQueues: {research: {groups: [{flavors: [{flavor: any, quota: {cpu: 4, memory: 8Gi, pods: 8}}]}]}}}
  tenants:
    scc-team-a: {queues: {default: research}, viewers: {users: [ann]}, grants: [manage-runtimes]}
    scc-team-b: {queues: {default: research}}
    scc-team-c: {queues: {default: research}}
`

// TestArgoCDMayApplyThePlatform applies, changes and deletes the objects of platforms. The test uses the identity of
// Argo CD's application controller. All rights of this controller come from the bundle. The API server lets the
// controller create or change a role only if the controller has all rights of the role.
func TestArgoCDMayApplyThePlatform(t *testing.T) {
	cp := controlplane.Start(t, controlplane.Alone(t.Name()))
	installSCCs(t, cp)
	delivery, fixed := deliverWith(t, "")
	argocd := impersonatingClient(t, cp, requestToken(t, cp, applicationController), rest.ImpersonationConfig{})
	if err := applyAs(t, argocd, fixed[0]); !apierrors.IsForbidden(err) {
		t.Fatalf("applying without the rights of the bundle: %v, want it forbidden", err)
	}
	grantAccess(t, cp, delivery)
	controlplane.Eventually(t, func(context.Context) error { return applyAs(t, argocd, fixed[0]) })
	for name, objs := range map[string][]client.Object{
		"a platform with fixed users": fixed,
		"the example acme":            readObjects(t, "../../bundles/rendered/acme/plain/dev/manifests.yaml"),
	} {
		t.Run(name, func(t *testing.T) {
			createNamespaces(t, cp, objs)
			for _, obj := range objs {
				if err := applyAs(t, argocd, obj); err != nil {
					t.Errorf("creating: %v", err)
				}
				obj.SetAnnotations(map[string]string{"changed": "true"})
				if err := applyAs(t, argocd, obj); err != nil {
					t.Errorf("changing: %v", err)
				}
			}
			for _, obj := range slices.Backward(objs) {
				var options []client.DeleteOption
				if isNamespace(obj) { // the control plane cannot complete the deletion of a namespace
					options = append(options, client.DryRunAll)
				}
				if err := argocd.Delete(t.Context(), obj, options...); err != nil {
					t.Errorf("deleting: %v", err)
				}
			}
		})
	}
}

// TestArgoCDHasFewRightsWithoutTheController checks that Argo CD may impersonate accounts and read Secrets only if the
// document sets controller.enabled. If the document sets controller.enabled, Argo CD creates the roles of trainyard's
// controller, which grant both rights. The API server lets Argo CD create a role only if Argo CD itself has all rights
// of the role. Argo CD needs the two rights only to create these roles.
func TestArgoCDHasFewRightsWithoutTheController(t *testing.T) {
	for _, enabled := range []bool{false, true} {
		platforms, err := generator.New(trainyard.CUE).Generate(t.Context(), generator.Request{Layers: []generator.Input{
			{Name: "fixed.yaml", Text: []byte(fixedUsers)}, {Name: "argocd.yaml", Text: fmt.Appendf(nil, byOpenShiftGitOps, "")},
			{Name: "controller.yaml", Text: fmt.Appendf(nil, "spec: {controller: {enabled: %t}}", enabled)},
		}})
		if err != nil {
			t.Fatal(err)
		}
		for _, right := range []string{"impersonate", "secrets"} {
			if got := strings.Contains(fmt.Sprint(platforms[0].Delivery.Access), right); got != enabled {
				t.Errorf("with controller.enabled %t, the rights of Argo CD contain %s: %t", enabled, right, got)
			}
		}
	}
}

func applyAs(t *testing.T, c client.Client, obj client.Object) error {
	t.Helper()
	u := obj.(*unstructured.Unstructured).DeepCopy()
	return c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(u), client.FieldOwner("argocd-controller"), client.ForceOwnership)
}

// TestArgoCDMayApplyEveryKind asks the API server which permissions Argo CD has. Argo CD must be able to apply and
// delete objects of every kind that trainyard can generate, and must not have unexpected permissions.
func TestArgoCDMayApplyEveryKind(t *testing.T) {
	cp := controlplane.Start(t, controlplane.Alone("TestArgoCDMayApplyThePlatform"))
	installSCCs(t, cp)
	delivery, _ := deliverWith(t, "")
	grantAccess(t, cp, delivery)
	account := fmt.Sprintf("system:serviceaccount:%s:%s", applicationController.Namespace, applicationController.Name)
	for name, kind := range delivery.Kinds {
		mapping, err := cp.Client().RESTMapper().RESTMapping(schema.GroupKind{Group: kind.Group, Kind: name})
		if err != nil {
			t.Fatal(err)
		}
		namespace := map[bool]string{true: "", false: "scc-team-a"}[kind.Cluster]
		for _, verb := range []string{"get", "list", "watch", "create", "patch", "delete"} {
			permission := verb + " " + mapping.Resource.GroupResource().String()
			controlplane.Eventually(t, func(context.Context) error {
				if !isAllowed(t, cp, account, "", namespace, permission) {
					return fmt.Errorf("Argo CD may not %s", permission)
				}
				return nil
			})
		}
	}
	want := []string{
		"cluster create clustertrainingruntimes.trainer.kubeflow.org", "cluster create trainjobs.trainer.kubeflow.org", "cluster get secrets",
		"cluster list clustertrainingruntimes.trainer.kubeflow.org", "cluster list configmaps", "cluster list namespaces", "cluster list pods",
		"cluster list trainjobs.trainer.kubeflow.org", "cluster list trainjobsources.trainyard.dev",
		"cluster patch validatingadmissionpolicybindings.admissionregistration.k8s.io", "create configmaps", "create events",
		"create events.events.k8s.io", "create localqueues.kueue.x-k8s.io", "create networkpolicies.networking.k8s.io",
		"create rolebindings.rbac.authorization.k8s.io", "create trainingruntimes.trainer.kubeflow.org", "create trainjobs.trainer.kubeflow.org",
		"create trainjobsources.trainyard.dev", "delete configmaps", "delete jobsets.jobset.x-k8s.io", "delete limitranges", "delete namespaces",
		"delete networkpolicies.networking.k8s.io", "delete trainjobs.trainer.kubeflow.org", "delete trainjobsources.trainyard.dev",
		"get configmaps", "get leases.coordination.k8s.io", "get pods/log", "get resourcequotas", "get secrets", "list configmaps", "list events",
		"list jobsets.jobset.x-k8s.io", "list localqueues.kueue.x-k8s.io", "list persistentvolumeclaims", "list pods",
		"list trainingruntimes.trainer.kubeflow.org", "list trainjobs.trainer.kubeflow.org", "list trainjobsources.trainyard.dev",
		"list workloads.kueue.x-k8s.io", "patch configmaps", "patch namespaces", "patch trainingruntimes.trainer.kubeflow.org",
		"patch trainjobs.trainer.kubeflow.org", "patch trainjobsources.trainyard.dev", "patch workloads.kueue.x-k8s.io", "update configmaps", "update leases.coordination.k8s.io",
		"update trainjobsources.trainyard.dev", "update trainjobsources.trainyard.dev/finalizers", "update trainjobsources.trainyard.dev/status",
	}
	if diff := cmp.Diff(want, listPermissions(t, cp, account, "", "scc-team-a")); diff != "" {
		t.Errorf("permissions of Argo CD: -want +got:\n%s", diff)
	}
	argocd := impersonatingClient(t, cp, requestToken(t, cp, applicationController), rest.ImpersonationConfig{})
	administrators := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "administrators"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "mallory"}},
	}
	if err := argocd.Create(t.Context(), administrators, client.DryRunAll); !apierrors.IsForbidden(err) {
		t.Errorf("giving a user the role cluster-admin as Argo CD: %v, want it forbidden", err)
	}
}

// TestOtherClustersNeedNoAccess checks when a bundle gives rights to Argo CD. The bundle must give these rights if
// OpenShift GitOps delivers the bundle to the cluster in which OpenShift GitOps itself runs. The bundle must give no
// rights if all destinations are other clusters.
func TestOtherClustersNeedNoAccess(t *testing.T) {
	for settings, want := range map[string]int{
		"": 2, ", cluster: in-cluster": 2, ", clusters: {a: {cluster: north}, b: {cluster: in-cluster}}": 2,
		", cluster: north": 0, ", clusters: {a: {cluster: north}}": 0,
	} {
		if delivery, _ := deliverWith(t, settings); len(delivery.Access) != want {
			t.Errorf("delivery.argocd with %q: %d objects give rights, want %d", settings, len(delivery.Access), want)
		}
	}
}

// deliverWith generates the platform fixedUsers with the layer byOpenShiftGitOps, and with the given settings
// in delivery.argocd.
func deliverWith(t *testing.T, settings string) (object.Delivery, []client.Object) {
	t.Helper()
	layers := []generator.Input{
		{Name: "fixed.yaml", Text: []byte(fixedUsers)}, {Name: "argocd.yaml", Text: fmt.Appendf(nil, byOpenShiftGitOps, settings)},
	}
	platforms, err := generator.New(trainyard.CUE).Generate(t.Context(), generator.Request{Layers: layers})
	if err != nil {
		t.Fatal(err)
	}
	return platforms[0].Delivery, generateObjects(t, layers...)
}

func grantAccess(t *testing.T, cp *controlplane.ControlPlane, delivery object.Delivery) {
	t.Helper()
	for _, fields := range delivery.Access {
		if err := cp.Apply(t.Context(), &unstructured.Unstructured{Object: fields}); err != nil {
			t.Fatal(err)
		}
	}
	if len(delivery.Access) == 0 {
		t.Fatal("no object gives Argo CD any rights")
	}
}
