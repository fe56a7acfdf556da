package argocd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/trainyard/trainyard/test/controlplane"
	"github.com/trainyard/trainyard/test/repo"
	"github.com/trainyard/trainyard/test/upstream"
)

const argocdNamespace = "argocd"

// localLayer is a layer for the example acme. With this layer, Argo CD delivers the environment
// "prod" to the cluster in which Argo CD runs. The layer also adds a team whose namespace trainyard
// generates.
const localLayer = `
spec:
  target: {openshift: false}
  grafana: {delivery: sidecar}
  delivery: {argocd: {repoURL: %s, path: deploy}}
  tenants:
    team-new: {runtimes: [mpi-openmpi-cpu], namespace: {create: true}, queues: {default: research}, editors: {groups: [new]}, quota: {trainJobs: 100}}
  environments:
    prod: {delivery: {argocd: {cluster: null, revision: null}}}
`

// world is a cluster, a Git repository, and an Argo CD that applies objects from the repository to the cluster.
type world struct {
	*controlplane.ControlPlane
	repository
	program, layers string
	app             string // the name of the platform's Application; empty for acme-prod
}

func (w *world) applicationName() string { return cmp.Or(w.app, "acme-prod") }

// newWorld sets up Argo CD as an admin does, and makes Argo CD apply the example acme.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{ControlPlane: controlplane.Start(t, controlplane.Pods(), controlplane.Alone(t.Name())), repository: newRepository(t), program: repo.Build(t), layers: t.TempDir()}
	w.layer(t, "local.yaml", fmt.Sprintf(localLayer, w.url))
	w.generate(t)
	w.push(t, "Deliver the platform")
	w.createNamespaces(t)
	w.install(t)
	startArgoCD(t, w.ControlPlane)
	w.applyFiles(t, filepath.Join(w.dir, "deploy", "prod", "argocd", "*.yaml"))
	return w
}

func (w *world) layer(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(w.layers, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (w *world) generate(t *testing.T, args ...string) {
	t.Helper()
	all := []string{"generate", "-f", repo.Path(t, "examples/acme/platform.yaml"), "-f", repo.Path(t, "examples/layers/trainer-2.3.yaml")}
	layers, err := filepath.Glob(filepath.Join(w.layers, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, layer := range layers {
		all = append(all, "-f", layer)
	}
	all = append(all, "--env", "prod", "--format", "argocd", "-o", filepath.Join(w.dir, "deploy", "prod"))
	if out, err := exec.Command(w.program, append(all, args...)...).CombinedOutput(); err != nil {
		t.Fatalf("generate: %v\n%s", err, out)
	}
}

// createNamespaces creates the namespaces that must exist before Argo CD applies the platform.
func (w *world) createNamespaces(t *testing.T) {
	t.Helper()
	for _, name := range []string{argocdNamespace, "team-vision", "team-speech", "team-physics"} {
		if err := w.Client().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
}

// install creates the CRDs, ConfigMaps and Secret that the servers of Argo CD need. The ConfigMaps are empty, because
// the settings of Argo CD come from the bundle.
func (w *world) install(t *testing.T) {
	t.Helper()
	crds := filepath.Join(moduleFolder(t, "argocd", "github.com/argoproj/argo-cd/v3"), "manifests", "crds")
	if _, err := envtest.InstallCRDs(w.Config(), envtest.CRDInstallOptions{Paths: []string{crds}, ErrorIfPathMissing: true, MaxTime: serverTimeout}); err != nil {
		t.Fatal(err)
	}
	ours := metav1.ObjectMeta{Namespace: argocdNamespace, Labels: map[string]string{"app.kubernetes.io/part-of": "argocd"}}
	for _, name := range []string{"argocd-cm", "argocd-rbac-cm", "argocd-cmd-params-cm"} {
		ours.Name = name
		if err := w.Client().Create(t.Context(), &corev1.ConfigMap{ObjectMeta: *ours.DeepCopy()}); err != nil {
			t.Fatal(err)
		}
	}
	ours.Name = "argocd-secret"
	if err := w.Client().Create(t.Context(), &corev1.Secret{ObjectMeta: ours, Data: map[string][]byte{"server.secretkey": []byte("a")}}); err != nil {
		t.Fatal(err)
	}
}

// moduleFolder returns the source folder of a Go module whose version is pinned in the given folder below tools/.
func moduleFolder(t *testing.T, folder, module string) string {
	t.Helper()
	dir, err := upstream.ModuleFolder(folder, module)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func (w *world) applyFiles(t *testing.T, pattern string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) < 3 {
		t.Fatalf("%s: %d files, %v", pattern, len(files), err)
	}
	objs, err := controlplane.ReadObjects(files...)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Apply(t.Context(), objs...); err != nil {
		t.Fatal(err)
	}
}

func (w *world) readApplication(ctx context.Context) (*unstructured.Unstructured, error) {
	return w.readResource(ctx, "Application", w.applicationName())
}

func (w *world) readResource(ctx context.Context, kind, name string) (*unstructured.Unstructured, error) {
	app := &unstructured.Unstructured{}
	app.SetGroupVersionKind(schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: kind})
	err := w.Client().Get(ctx, client.ObjectKey{Namespace: argocdNamespace, Name: name}, app)
	return app, err
}

func (w *world) annotate(t *testing.T, key, value string) {
	t.Helper()
	w.annotateNamed(t, "Application", w.applicationName(), key, value)
}

func (w *world) annotateNamed(t *testing.T, kind, name, key, value string) {
	t.Helper()
	app, err := w.readResource(t.Context(), kind, name)
	if err != nil {
		t.Fatal(err)
	}
	patch := fmt.Appendf(nil, `{"metadata": {"annotations": {%q: %q}}}`, key, value)
	if err := w.Client().Patch(t.Context(), app, client.RawPatch("application/merge-patch+json", patch)); err != nil {
		t.Fatal(err)
	}
}

// refresh makes Argo CD read Git now, and waits until Argo CD has read Git.
func (w *world) refresh(t *testing.T) {
	t.Helper()
	w.annotate(t, "argocd.argoproj.io/refresh", "normal")
	w.awaitCondition(t, "Argo CD reads Git", func(app *unstructured.Unstructured) error {
		if _, asked := app.GetAnnotations()["argocd.argoproj.io/refresh"]; asked {
			return errors.New("Argo CD has not read Git yet")
		}
		return nil
	})
}

func (w *world) awaitCondition(t *testing.T, what string, holds func(app *unstructured.Unstructured) error) {
	t.Helper()
	w.eventuallyNamed(t, w.applicationName(), what, holds)
}

func (w *world) eventuallyNamed(t *testing.T, name, what string, holds func(app *unstructured.Unstructured) error) {
	t.Helper()
	for end := time.Now().Add(serverTimeout); ; time.Sleep(time.Second) {
		app, err := w.readResource(t.Context(), "Application", name)
		if err == nil {
			err = holds(app)
		}
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: %v\n%s", what, err, describeStatus(app))
		}
	}
}

func describeStatus(app *unstructured.Unstructured) string {
	conditions, _, _ := unstructured.NestedSlice(app.Object, "status", "conditions")
	message, _, _ := unstructured.NestedString(app.Object, "status", "operationState", "message")
	var lines []string
	for _, r := range resources(app) {
		if r.Status != "Synced" || r.Health.Status != "" && r.Health.Status != "Healthy" {
			lines = append(lines, fmt.Sprintf("%+v", r))
		}
	}
	return fmt.Sprintf("conditions %v\noperation %s\n%s", conditions, message, strings.Join(lines, "\n"))
}

// resource is an object in the status of an Application.
type resource struct {
	Group, Kind, Namespace, Name, Status string

	Health          struct{ Status, Message string }
	RequiresPruning bool
}

func resources(app *unstructured.Unstructured) []resource {
	list, _, _ := unstructured.NestedSlice(app.Object, "status", "resources")
	text, _ := json.Marshal(list) // cannot fail, because the list was decoded from JSON
	var all []resource
	_ = json.Unmarshal(text, &all)
	return all
}

// inSync returns a condition for awaitCondition. The condition is met if the Application is Synced and Healthy at the
// given commit. If the argument "commit" is empty, the Application can be at any commit.
func (w *world) inSync(commit string) func(app *unstructured.Unstructured) error {
	return func(app *unstructured.Unstructured) error {
		sync, _, _ := unstructured.NestedString(app.Object, "status", "sync", "status")
		health, _, _ := unstructured.NestedString(app.Object, "status", "health", "status")
		revision, _, _ := unstructured.NestedString(app.Object, "status", "sync", "revision")
		if sync != "Synced" || health != "Healthy" || commit != "" && revision != commit {
			return fmt.Errorf("%s and %s at %q, want Synced and Healthy at %q", sync, health, revision, commit)
		}
		return nil
	}
}

func (w *world) headCommit(t *testing.T) string {
	t.Helper()
	cmd := exec.Command("git", "rev-parse", "HEAD")
	cmd.Dir = w.dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// hasObject reports whether an object exists in the cluster and is not being deleted.
func (w *world) hasObject(ctx context.Context, gvk schema.GroupVersionKind, key client.ObjectKey) bool {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(gvk)
	return w.Client().Get(ctx, key, o) == nil && o.GetDeletionTimestamp() == nil
}

// objectFiles returns the number of object files in the bundle of an environment. This is also the number of objects,
// because each object has its own file.
func (w *world) objectFiles(t *testing.T, environment string) int {
	t.Helper()
	n := 0
	err := filepath.WalkDir(filepath.Join(w.dir, "deploy", environment, "objects"), func(_ string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
