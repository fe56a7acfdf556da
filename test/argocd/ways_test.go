package argocd

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/test/controlplane"
	"github.com/trainyard/trainyard/test/repo"
)

// waysPlatform is a platform whose environments are delivered in different ways. Argo CD only compares the objects with
// the cluster, and does not apply them, because the field "automated" is false. The test runs only one Argo CD for all
// environments. But trainyard refuses a document in which two environments deliver the same objects to one cluster.
// Therefore, the environments have different values of the field "instance", as if each environment had its own cluster
// and Argo CD.
const waysPlatform = `
apiVersion: trainyard.dev/v1alpha1
kind: Platform
metadata: {name: acme}
spec:
  target: {argocd: "3.2"}
  runtimes: {mpi: {from: openmpi-cpu, image: "quay.io/acme/openmpi:4.1.6"}}
  tenants: {team-a: {runtimes: [mpi], namespace: {create: true}, editors: {groups: [a]}, repositories: [%[2]s]}}
  delivery: {argocd: {repoURL: %[1]s, path: deploy, automated: false}}
  environments:
    folders: {delivery: {argocd: {instance: folders}}, tenants: {team-a: {applications: {folders: [jobs/*]}}}}
    clusters: {delivery: {argocd: {instance: clusters, clusters: {here: {cluster: "https://kubernetes.default.svc"}, there: {cluster: elsewhere, revision: next}}}}}
    artifact: {delivery: {argocd: {instance: artifact, repoURL: "oci://%[3]s", path: null}}}
    prod: {}
`

// emptyTrainJob is the TrainJob that the test writes to each folder of a team's repository.
const emptyTrainJob = "{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, metadata: {name: a, namespace: b}, spec: {suspend: false}}"

// newWays sets up one Argo CD, a repository with the bundles of all environments, a repository with the
// TrainJobs of a team, and an OCI registry.
func newWays(t *testing.T) (w *world, s servers, team repository, registry string) {
	t.Helper()
	cp := controlplane.Start(t, controlplane.CRDsOnly())
	w = &world{ControlPlane: cp, repository: newRepository(t), program: repo.Build(t), layers: t.TempDir()}
	team, registry = newRepository(t), newRegistry(t)
	write(t, filepath.Join(w.dir, "platform", "platform.yaml"), fmt.Sprintf(waysPlatform, w.url, team.url, registry))
	w.writeBundles(t)
	w.push(t, "Deliver the platform")
	for _, name := range []string{"jobs/Bert 2", "jobs/{{.values.repoURL}}", "jobs/nested/deeper", "data"} {
		write(t, filepath.Join(team.dir, name, "job.yaml"), emptyTrainJob)
	}
	team.push(t, "Train")
	if err := cp.Client().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: argocdNamespace}}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	w.install(t)
	w.createSecret(t, "cluster", map[string]string{"name": "elsewhere", "server": "https://127.0.0.1:1", "config": "{}"})
	w.createSecret(t, "repository", map[string]string{"type": "oci", "url": "oci://" + registry, "insecureOCIForceHttp": "true"})
	s = startArgoCD(t, cp)
	s.startSets(t)
	return w, s, team, registry
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

func (w *world) writeBundles(t *testing.T) {
	t.Helper()
	cmd := exec.Command(w.program, "generate", "-f", "platform/platform.yaml", "--format", "argocd", "-o", "deploy")
	cmd.Dir = w.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("generate: %v\n%s", err, out)
	}
}

// createSecret creates a Secret that registers a cluster or a repository with Argo CD.
func (w *world) createSecret(t *testing.T, about string, data map[string]string) {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: argocdNamespace, GenerateName: about, Labels: map[string]string{"argocd.argoproj.io/secret-type": about}}
	if err := w.Client().Create(t.Context(), &corev1.Secret{ObjectMeta: meta, StringData: data}); err != nil {
		t.Fatal(err)
	}
}

// seesObjects returns a condition for awaitCondition. The condition is met if Argo CD has found n
// objects, and the Application reports no errors.
func seesObjects(n int) func(app *unstructured.Unstructured) error {
	return func(app *unstructured.Unstructured) error {
		if got := len(resources(app)); got != n {
			return fmt.Errorf("%d objects, want %d", got, n)
		}
		if conditions, _, _ := unstructured.NestedSlice(app.Object, "status", "conditions"); len(conditions) > 0 {
			return fmt.Errorf("its conditions are %v", conditions)
		}
		return nil
	}
}

// TestArgoCDFindsEveryWay checks that Argo CD finds all objects that ApplicationSets, an OCI artifact and the plugin
// deliver.
func TestArgoCDFindsEveryWay(t *testing.T) {
	w, s, team, registry := newWays(t)
	for _, environment := range []string{"folders", "clusters"} {
		w.applyFiles(t, filepath.Join(w.dir, "deploy", environment, "argocd", "*.yaml"))
	}
	w.expectSets(t, team)
	w.expectArtifact(t, registry)
	w.expectPlugin(t, s)
}

// generatedApp contains the fields that an ApplicationSet sets in an Application.
type generatedApp struct{ Project, Source, Path, Revision, Cluster, Namespace string }

// expectSets checks the Applications that ApplicationSets create. The fields that grant rights, such as the project
// and the namespace, must not depend on the names of folders, because teams choose these names.
func (w *world) expectSets(t *testing.T, team repository) {
	t.Helper()
	job := func(path string) generatedApp {
		return generatedApp{"acme-folders.team-a", team.url, path, "HEAD", "https://kubernetes.default.svc", "team-a"}
	}
	want := map[string]generatedApp{
		"acme-folders":                       {"acme-folders", w.url, "deploy/folders/objects", "HEAD", "https://kubernetes.default.svc", v1alpha1.SystemNamespace},
		"acme-folders.team-a.bert-2":         job("jobs/Bert 2"),
		"acme-folders.team-a.nested":         job("jobs/nested"),
		"acme-folders.team-a.values.repourl": job("jobs/{{.values.repoURL}}"),
		"acme-clusters.here":                 {"acme-clusters", w.url, "deploy/clusters/objects", "HEAD", "https://kubernetes.default.svc", v1alpha1.SystemNamespace},
		"acme-clusters.there":                {"acme-clusters", w.url, "deploy/clusters/objects", "next", "elsewhere", v1alpha1.SystemNamespace},
	}
	w.eventuallyMade(t, want)
	w.eventuallyNamed(t, "acme-clusters.here", "Argo CD has all objects", seesObjects(w.objectFiles(t, "clusters")))
	w.eventuallyNamed(t, "acme-folders.team-a.bert-2", "Argo CD has the job", seesObjects(1))

	if err := os.RemoveAll(filepath.Join(team.dir, "jobs", "nested")); err != nil {
		t.Fatal(err)
	}
	team.push(t, "Done")
	w.annotateNamed(t, "ApplicationSet", "acme-folders.team-a", "argocd.argoproj.io/application-set-refresh", "true")
	delete(want, "acme-folders.team-a.nested")
	w.eventuallyMade(t, want)
}

// eventuallyMade waits until exactly the wanted Applications exist. The Applications must have no finalizers, so that
// Argo CD keeps an Application's objects when the Application is deleted.
func (w *world) eventuallyMade(t *testing.T, want map[string]generatedApp) {
	t.Helper()
	for end := time.Now().Add(serverTimeout); ; time.Sleep(time.Second) {
		diff := cmp.Diff(want, w.made(t))
		if diff == "" {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("-want +made:\n%s", diff)
		}
	}
}

func (w *world) made(t *testing.T) map[string]generatedApp {
	t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("argoproj.io/v1alpha1")
	list.SetKind("ApplicationList")
	if err := w.Client().List(t.Context(), list, client.InNamespace(argocdNamespace)); err != nil {
		t.Fatal(err)
	}
	all := map[string]generatedApp{}
	for _, app := range list.Items {
		if len(app.GetFinalizers()) > 0 {
			t.Errorf("the deletion of %s would delete its objects", app.GetName())
		}
		get := func(path ...string) string {
			text, _, _ := unstructured.NestedString(app.Object, append([]string{"spec"}, path...)...)
			return text
		}
		all[app.GetName()] = generatedApp{
			get("project"), get("source", "repoURL"), get("source", "path"), get("source", "targetRevision"),
			get("destination", "server") + get("destination", "name"), get("destination", "namespace"),
		}
	}
	return all
}

// expectArtifact publishes the objects as an OCI artifact, and checks that Argo CD reads the
// objects from the registry.
func (w *world) expectArtifact(t *testing.T, registry string) {
	t.Helper()
	run(t, w.dir, w.program, "publish", "oci", "oci://"+registry, "-f", "platform/platform.yaml", "--env", "artifact")
	w.applyFiles(t, filepath.Join(w.dir, "deploy", "artifact", "argocd", "*.yaml"))
	w.eventuallyNamed(t, "acme-artifact", "Argo CD has all objects", seesObjects(w.objectFiles(t, "artifact")))
	app, err := w.readResource(t.Context(), "Application", "acme-artifact")
	if err != nil {
		t.Fatal(err)
	}
	published := run(t, w.dir, w.program, "publish", "oci", "oci://"+registry, "-f", "platform/platform.yaml", "--env", "artifact", "--dry-run")
	if revision, _, _ := unstructured.NestedString(app.Object, "status", "sync", "revision"); revision == "" || !strings.Contains(published, "@"+revision+"\n") {
		t.Errorf("Argo CD is at %s, want what was published: %s", revision, published)
	}
}

const pluginFolder = "examples/argocd-plugin"

// expectPlugin checks that the plugin renders the document, and that the plugin fails for a document with
// problems. If the plugin printed only some objects instead, Argo CD would delete the missing objects.
func (w *world) expectPlugin(t *testing.T, s servers) {
	t.Helper()
	s.startPlugin(t, "trainyard", repo.Path(t, pluginFolder), filepath.Dir(w.program))
	dir := t.TempDir()
	run(t, dir, "cp", "-r", filepath.Join(w.dir, "deploy", "prod", "argocd"), repo.Path(t, pluginFolder, "source.yaml"), dir)
	write(t, filepath.Join(dir, "kustomization.yaml"), "resources: [argocd/application-acme-prod.yaml, argocd/appproject-acme-prod.yaml, argocd/argocd-cm.yaml]\npatches: [{path: source.yaml}]\n")
	for i, text := range strings.Split(run(t, dir, repo.Tool(t, "kustomize"), "build", "."), "\n---\n") {
		write(t, filepath.Join(dir, "built", fmt.Sprintf("%d.yaml", i)), text)
	}
	w.applyFiles(t, filepath.Join(dir, "built", "*.yaml"))
	w.awaitCondition(t, "the plugin prints all objects", seesObjects(w.objectFiles(t, "prod")))

	run(t, w.dir, "sed", "-i", "s/openmpi-cpu/openmpi-cqu/", "platform/platform.yaml")
	w.push(t, "Mistake something")
	w.annotate(t, "argocd.argoproj.io/refresh", "hard")
	w.awaitCondition(t, "Argo CD shows the error of trainyard", func(app *unstructured.Unstructured) error {
		conditions, _, _ := unstructured.NestedSlice(app.Object, "status", "conditions")
		if status, _, _ := unstructured.NestedString(app.Object, "status", "sync", "status"); status != "Unknown" || !strings.Contains(fmt.Sprint(conditions), "did you mean") {
			return fmt.Errorf("the status is %s, and the conditions are %v", status, conditions)
		}
		return nil
	})
}

func run(t *testing.T, dir, program string, args ...string) string {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	return string(out)
}
