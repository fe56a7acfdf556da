package objects

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard/test/controlplane"
	"github.com/trainyard/trainyard/test/repo"
	"github.com/trainyard/trainyard/test/upstream"
)

func TestMain(m *testing.M) { os.Exit(controlplane.Main(m)) }

// versions lists the oldest and the newest version of Argo CD that bundles support. Each key is a folder in tools/
// whose go.mod pins a version of Argo CD. Each value is the Go module path of the pinned version.
var versions = map[string]string{
	"argocd-2.14": "github.com/argoproj/argo-cd/v2",
	"argocd":      "github.com/argoproj/argo-cd/v3",
}

// startWithCRDs starts an API server with the CRDs of the given Argo CD version and of the OpenShift GitOps operator.
func startWithCRDs(t *testing.T, version string) *controlplane.ControlPlane {
	t.Helper()
	cp := controlplane.Start(t, controlplane.Alone(version))
	crds := []string{
		filepath.Join(moduleFolder(t, version, versions[version]), "manifests", "crds"),
		filepath.Join(moduleFolder(t, "argocd-operator", "github.com/argoproj-labs/argocd-operator"), "config", "crd", "bases", "argoproj.io_argocds.yaml"),
	}
	if _, err := envtest.InstallCRDs(cp.Config(), envtest.CRDInstallOptions{Paths: crds, ErrorIfPathMissing: true, MaxTime: time.Minute}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"argocd", "openshift-gitops"} {
		err := cp.Client().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	return cp
}

// moduleFolder returns the source folder of a Go module. The go.mod of the given folder in tools/ pins the version of
// the module.
func moduleFolder(t *testing.T, folder, module string) string {
	t.Helper()
	dir, err := upstream.ModuleFolder(folder, module)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestArgoCDTakesAllObjects applies the objects that configure Argo CD, such as Applications, from the bundles of the
// examples. The API servers have the CRDs of Argo CD and of the OpenShift GitOps operator, and reject unknown fields.
// A second apply must change nothing.
func TestArgoCDTakesAllObjects(t *testing.T) {
	for version := range versions {
		cp := startWithCRDs(t, version)
		for _, folder := range settingsFolders(t) {
			t.Run(version+" "+folder, func(t *testing.T) {
				files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
				if err != nil || len(files) < 3 {
					t.Fatalf("%d files, %v", len(files), err)
				}
				objs, err := controlplane.ReadObjects(files...)
				if err != nil {
					t.Fatal(err)
				}
				if err := cp.Apply(t.Context(), objs...); err != nil {
					t.Fatal(err)
				}
				changes, err := cp.ApplyAgain(t.Context(), objs...)
				if err != nil || len(changes) > 0 {
					t.Errorf("a second apply changes %v, error %v", changes, err)
				}
			})
		}
	}
}

func settingsFolders(t *testing.T) []string {
	t.Helper()
	var folders []string
	for _, pattern := range []string{"*/argocd/argocd", "*/argocd/*/argocd"} { // without and with environments
		found, err := filepath.Glob(filepath.Join(repo.Path(t, "bundles", "rendered"), pattern))
		if err != nil {
			t.Fatal(err)
		}
		folders = append(folders, found...)
	}
	if len(folders) < 3 {
		t.Fatalf("got the folders %v, want those of acme's two environments and of vanilla", folders)
	}
	return folders
}

// TestArgoCD2RejectsFieldsOfLaterVersions checks that an API server with the CRDs of Argo CD 2.14 rejects fields of
// later versions. TestArgoCDTakesAllObjects applies the Applications and other Argo CD objects of the bundles to an API
// server with the same CRDs. Therefore TestArgoCDTakesAllObjects fails if an Argo CD object of a bundle contains a
// field of a later version.
func TestArgoCD2RejectsFieldsOfLaterVersions(t *testing.T) {
	cp := startWithCRDs(t, "argocd-2.14")
	for name, text := range map[string]string{
		"automated.enabled of an Application":      "{apiVersion: argoproj.io/v1alpha1, kind: Application, spec: {syncPolicy: {automated: {enabled: true}}}}",
		"an allowed name of an AppProject":         "{apiVersion: argoproj.io/v1alpha1, kind: AppProject, spec: {clusterResourceWhitelist: [{group: a, kind: B, name: c}]}}",
		"automated.enabled of an ApplicationSet":   "{apiVersion: argoproj.io/v1alpha1, kind: ApplicationSet, spec: {template: {spec: {syncPolicy: {automated: {enabled: true}}}}}}",
		"the generator \"oci\" of ApplicationSets": "{apiVersion: argoproj.io/v1alpha1, kind: ApplicationSet, spec: {generators: [{oci: {}}]}}",
	} {
		t.Run(name, func(t *testing.T) {
			obj := &unstructured.Unstructured{}
			if err := yaml.UnmarshalStrict([]byte(text), &obj.Object); err != nil {
				t.Fatal(err)
			}
			obj.SetNamespace("argocd")
			obj.SetName("later")
			err := cp.Apply(t.Context(), client.Object(obj))
			if err == nil || !strings.Contains(err.Error(), "field not declared in schema") {
				t.Errorf("Apply() = %v, want an undeclared field", err)
			}
		})
	}
}
