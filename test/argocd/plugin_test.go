package argocd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/test/controlplane"
	"github.com/trainyard/trainyard/test/repo"
)

// TestPluginFitsArgoCD adds the kustomize component of the plugin to the manifests of Argo CD, and applies the result
// to the API server.
func TestPluginFitsArgoCD(t *testing.T) {
	dir := t.TempDir()
	install, err := os.ReadFile(filepath.Join(moduleFolder(t, "argocd", "github.com/argoproj/argo-cd/v3"), "manifests", "install.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "install.yaml"), string(install))
	write(t, filepath.Join(dir, "kustomization.yaml"), "namespace: argocd\nresources: [install.yaml]\ncomponents: [plugin]\n")
	run(t, dir, "cp", "-r", repo.Path(t, pluginFolder), "plugin")
	write(t, filepath.Join(dir, "built.yaml"), run(t, dir, repo.Tool(t, "kustomize"), "build", "."))
	all, err := controlplane.ReadObjects(filepath.Join(dir, "built.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var changed []client.Object
	for _, o := range all {
		if o.GetName() == "argocd-repo-server" && o.GetObjectKind().GroupVersionKind().Kind == "Deployment" || strings.HasPrefix(o.GetName(), "trainyard") {
			changed = append(changed, o)
		}
	}
	if len(changed) != 2 {
		t.Fatalf("%d objects, want the repo-server and the plugin's ConfigMap", len(changed))
	}
	cp := controlplane.Start(t, controlplane.CRDsOnly())
	if err := cp.Client().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: argocdNamespace}}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	if err := cp.Apply(t.Context(), changed...); err != nil {
		t.Fatal(err)
	}
}
