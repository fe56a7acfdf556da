package objects

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/test/controlplane"
	"github.com/trainyard/trainyard/test/repo"
)

// TestPluginFitsArgoCD adds the kustomize component in examples/argocd-plugin to Argo CD's manifests. The test checks that
// an API server accepts the objects that the component adds or changes.
func TestPluginFitsArgoCD(t *testing.T) {
	var changed []client.Object
	for _, o := range buildWithPlugin(t) {
		if o.GetName() == "argocd-repo-server" && o.GetObjectKind().GroupVersionKind().Kind == "Deployment" || strings.HasPrefix(o.GetName(), "trainyard") {
			changed = append(changed, o)
		}
	}
	if len(changed) != 2 {
		t.Fatalf("%d objects, want the repo-server and the plugin's ConfigMap", len(changed))
	}
	if err := startWithCRDs(t, "argocd").Apply(t.Context(), changed...); err != nil {
		t.Fatal(err)
	}
}

func buildWithPlugin(t *testing.T) []client.Object {
	t.Helper()
	dir := t.TempDir()
	install, err := os.ReadFile(filepath.Join(moduleFolder(t, "argocd", versions["argocd"]), "manifests", "install.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "install.yaml"), install)
	write(t, filepath.Join(dir, "kustomization.yaml"), []byte("namespace: argocd\nresources: [install.yaml]\ncomponents: [plugin]\n"))
	if err := os.CopyFS(filepath.Join(dir, "plugin"), os.DirFS(repo.Path(t, "examples/argocd-plugin"))); err != nil {
		t.Fatal(err)
	}
	built, err := exec.Command(repo.Tool(t, "kustomize"), "build", dir).CombinedOutput()
	if err != nil {
		t.Fatalf("kustomize build: %v\n%s", err, built)
	}
	write(t, filepath.Join(dir, "built.yaml"), built)
	all, err := controlplane.ReadObjects(filepath.Join(dir, "built.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func write(t *testing.T, file string, text []byte) {
	t.Helper()
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
