package argocd

import (
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/trainyard/trainyard/test/controlplane"
	"github.com/trainyard/trainyard/test/repo"
)

// TestObjectsAreTaken applies the Argo CD resources of the examples, such as Applications, to an API server. The API
// server has the CRDs of Argo CD and of the OpenShift GitOps operator, and validates all fields.
func TestObjectsAreTaken(t *testing.T) {
	cp := controlplane.Start(t)
	crds := []string{
		filepath.Join(moduleFolder(t, "argocd", "github.com/argoproj/argo-cd/v3"), "manifests", "crds"),
		filepath.Join(moduleFolder(t, "argocd-operator", "github.com/argoproj-labs/argocd-operator"), "config", "crd", "bases", "argoproj.io_argocds.yaml"),
	}
	if _, err := envtest.InstallCRDs(cp.Config(), envtest.CRDInstallOptions{Paths: crds, ErrorIfPathMissing: true, MaxTime: serverTimeout}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{argocdNamespace, "openshift-gitops"} {
		err := cp.Client().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	for _, bundle := range []string{"acme/argocd/dev", "acme/argocd/prod", "vanilla/argocd"} {
		t.Run(bundle, func(t *testing.T) {
			files, err := filepath.Glob(filepath.Join(repo.Path(t, "bundles", "rendered"), bundle, "argocd", "*.yaml"))
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
