package controlplane_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/test/build"
	"github.com/trainyard/trainyard/test/controlplane"
)

// controllerPermissions lists the permissions that trainyard's controller has in every namespace. A permission with the
// prefix "cluster " applies to the whole cluster.
var controllerPermissions = []string{
	"list trainjobs.trainer.kubeflow.org", "list trainingruntimes.trainer.kubeflow.org", "cluster list clustertrainingruntimes.trainer.kubeflow.org",
	"list trainjobsources.trainyard.dev", "update trainjobsources.trainyard.dev", "patch trainjobsources.trainyard.dev",
	"update trainjobsources.trainyard.dev/status", "update trainjobsources.trainyard.dev/finalizers",
	"create events", "create events.events.k8s.io",
	"cluster list trainjobs.trainer.kubeflow.org", "cluster list trainjobsources.trainyard.dev",
	// The controller needs the following permissions to report the state of TrainJobs, and to suspend, delete
	// and isolate TrainJobs.
	"patch trainjobs.trainer.kubeflow.org", "delete trainjobs.trainer.kubeflow.org", "list jobsets.jobset.x-k8s.io", "list pods", "cluster list pods",
	"get pods/log", "list events", "list workloads.kueue.x-k8s.io", "patch workloads.kueue.x-k8s.io",
	"create networkpolicies.networking.k8s.io", "delete networkpolicies.networking.k8s.io",
}

// TestControllerHasOnlyItsPermissions checks the permissions of trainyard's controller in namespaces of tenants, in
// other namespaces and in the whole cluster. To create a TrainJob, the controller impersonates a ServiceAccount of the
// tenant. Therefore the controller's own ServiceAccount must not have the right to create TrainJobs.
func TestControllerHasOnlyItsPermissions(t *testing.T) {
	cp := controlplane.Start(t)
	applyAcme(t, cp)
	const controller = "system:serviceaccount:trainyard-system:trainyard-controller"
	for namespace, more := range map[string][]string{
		"team-vision": {"get secrets"},
		"team-speech": {"get secrets"},
		v1alpha1.SystemNamespace: {
			"get configmaps", "list configmaps", "create configmaps", "update configmaps", "get leases.coordination.k8s.io", "update leases.coordination.k8s.io",
		},
		cp.Namespace(t): nil, // a namespace without a tenant
		"kube-system":   nil,
	} {
		want := slices.Sorted(slices.Values(slices.Concat(controllerPermissions, more)))
		if diff := cmp.Diff(want, listPermissions(t, cp, controller, "", namespace)); diff != "" {
			t.Errorf("permissions in %s: -want +got:\n%s", namespace, diff)
		}
	}
}

// TestControllerAndUsersAreSeparated checks which requests the controller and the users of a tenant may send. The users
// of a tenant must not read or change the records: ConfigMaps in which the controller notes which jobs have already
// run.
func TestControllerAndUsersAreSeparated(t *testing.T) {
	cp := controlplane.Start(t)
	applyAcme(t, cp)
	const tenant = "team-vision"
	record := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: "trainjobsource.team-vision.jobs"}}
	credentials := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: "git-credentials"}}
	createTemporary(t, cp, record, credentials)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: "a"}}
	job := build.MakeTrainJob("a", tenant).Runtime("mpi-openmpi-cpu").Obj()
	configMaps, secrets := &corev1.ConfigMapList{}, &corev1.SecretList{}

	token := requestToken(t, cp, client.ObjectKey{Namespace: v1alpha1.SystemNamespace, Name: "trainyard-controller"})
	controller := impersonatingClient(t, cp, token, rest.ImpersonationConfig{})
	editor, viewer := clientAs(t, cp, "eve", "vision"), clientAs(t, cp, "ann", "audit")
	for name, tc := range map[string]struct {
		as      client.Client
		request request
		allowed bool
	}{
		"the controller reads a record":               {controller, reading(record), true},
		"the controller lists the records":            {controller, listing(configMaps, v1alpha1.SystemNamespace), true},
		"the controller changes a record":             {controller, updating(record), true},
		"the controller deletes a record":             {controller, deleting(record), false},
		"the controller lists a tenant's ConfigMaps":  {controller, listing(configMaps, tenant), false},
		"the controller reads a tenant's Secret":      {controller, reading(credentials), true},
		"the controller lists a tenant's Secrets":     {controller, listing(secrets, tenant), false},
		"the controller lists Secrets beside itself":  {controller, listing(secrets, v1alpha1.SystemNamespace), false},
		"the controller lists all Secrets":            {controller, listing(secrets, ""), false},
		"the controller submits a TrainJob as itself": {controller, creating(job), false},
		"the controller creates a pod":                {controller, creating(pod), false},
		"an editor reads a record":                    {editor, reading(record), false},
		"an editor lists the records":                 {editor, listing(configMaps, v1alpha1.SystemNamespace), false},
		"an editor changes a record":                  {editor, updating(record), false},
		"an editor reads the credentials":             {editor, reading(credentials), false},
		"a viewer reads a record":                     {viewer, reading(record), false},
	} {
		t.Run(name, func(t *testing.T) { expectAccess(t, tc.request(t.Context(), tc.as), tc.allowed) })
	}
}

func expectAccess(t *testing.T, err error, allowed bool) {
	t.Helper()
	if allowed && err != nil {
		t.Errorf("got %v, want success", err)
	}
	if !allowed && !apierrors.IsForbidden(err) {
		t.Errorf("got %v, want it forbidden", err)
	}
}

func createTemporary(t *testing.T, cp *controlplane.ControlPlane, objs ...client.Object) {
	t.Helper()
	for _, obj := range objs {
		if err := cp.Client().Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := cp.Client().Delete(context.Background(), obj); err != nil {
				t.Error(err)
			}
		})
	}
}

// request sends a request to the API server. Requests that write are dry runs, so the cluster does not change.
type request func(context.Context, client.Client) error

func reading(obj client.Object) request {
	return func(ctx context.Context, c client.Client) error {
		return c.Get(ctx, client.ObjectKeyFromObject(obj), copyOf(obj))
	}
}

func listing(objs client.ObjectList, namespace string) request {
	return func(ctx context.Context, c client.Client) error {
		return c.List(ctx, objs, client.InNamespace(namespace))
	}
}

func creating(obj client.Object) request {
	return func(ctx context.Context, c client.Client) error { return c.Create(ctx, copyOf(obj), client.DryRunAll) }
}

func updating(obj client.Object) request {
	return func(ctx context.Context, c client.Client) error { return c.Update(ctx, copyOf(obj), client.DryRunAll) }
}

func deleting(obj client.Object) request {
	return func(ctx context.Context, c client.Client) error { return c.Delete(ctx, copyOf(obj), client.DryRunAll) }
}

func copyOf(obj client.Object) client.Object { return obj.DeepCopyObject().(client.Object) }
