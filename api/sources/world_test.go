package sources_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard/api/crds"
	"github.com/trainyard/trainyard/api/sources"
	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/test/controlplane"
	"github.com/trainyard/trainyard/test/poll"
)

func TestMain(m *testing.M) { os.Exit(controlplane.Main(m)) }

// world is a test environment: an API server that knows the kind TrainJobSource, and a namespace that
// contains a TrainJobSource with the name "jobs".
type world struct {
	t         *testing.T
	config    *rest.Config
	client    client.Client
	namespace string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	cp := controlplane.Start(t, controlplane.CRDsOnly())
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(crds.TrainJobSource, crd); err != nil {
		t.Fatal(err)
	}
	if _, err := envtest.InstallCRDs(cp.Config(), envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{crd}}); err != nil {
		t.Fatal(err)
	}
	if err := v1alpha1.AddToScheme(cp.Client().Scheme()); err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, config: cp.Config(), client: cp.Client(), namespace: cp.Namespace(t)}
	w.create("jobs")
	return w
}

func (w *world) create(name string) {
	w.t.Helper()
	source := &v1alpha1.TrainJobSource{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	source.Spec.URL = "https://git.example.com/team/jobs.git"
	if err := w.client.Create(w.t.Context(), source); err != nil {
		w.t.Fatal(err)
	}
}

// connect connects to the API server as the given user, or as the administrator if the name of the
// user is empty.
func (w *world) connect(as string) sources.Sources {
	w.t.Helper()
	config := rest.CopyConfig(w.config)
	config.Impersonate.UserName = as
	all, err := sources.Connect(config)
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

func (w *world) key() types.NamespacedName {
	return types.NamespacedName{Namespace: w.namespace, Name: "jobs"}
}

func (w *world) read() v1alpha1.TrainJobSource {
	w.t.Helper()
	var source v1alpha1.TrainJobSource
	if err := w.client.Get(w.t.Context(), w.key(), &source); err != nil {
		w.t.Fatal(err)
	}
	return source
}

func (w *world) change(set func(*v1alpha1.TrainJobSourceStatus)) {
	w.t.Helper()
	source := w.read()
	source.Status.ObservedGeneration = source.Generation
	set(&source.Status)
	if err := w.client.Status().Update(w.t.Context(), &source); err != nil {
		w.t.Fatal(err)
	}
}

// allow gives rights to the user who has the same name as the namespace. Because the rights take effect with a delay,
// the method "allow" waits until the user can read the TrainJobSource. Therefore the argument "verbs" must contain
// "get".
func (w *world) allow(verbs ...string) {
	w.t.Helper()
	meta := metav1.ObjectMeta{Namespace: w.namespace, Name: "reader"}
	role := &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{Verbs: verbs, APIGroups: []string{v1alpha1.Group}, Resources: []string{"trainjobsources"}},
	}}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: w.namespace}},
	}
	if err := errors.Join(w.client.Create(w.t.Context(), role), w.client.Create(w.t.Context(), binding)); err != nil {
		w.t.Fatal(err)
	}
	// Wait until the new role takes effect.
	user := w.connect(w.namespace)
	poll.Until(w.t, time.Minute, func(ctx context.Context) error {
		_, err := user.Get(ctx, w.key())
		return err
	})
}

func condition(kind string, status metav1.ConditionStatus, reason, text string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: text, LastTransitionTime: metav1.Now()}
}
