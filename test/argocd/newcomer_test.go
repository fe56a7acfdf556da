package argocd

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/test/controlplane"
	"github.com/trainyard/trainyard/test/doctest"
	"github.com/trainyard/trainyard/test/repo"
)

const personConfig = `[user]
	name = newcomer
	email = newcomer@acme.example
[http]
	proxy = %s
`

// TestNewcomerFollowsThePage runs the commands of docs/argocd.md without changes. Before the first command, the test
// starts Argo CD and a control plane with Trainer, and serves an empty repository at the address that the commands use.
// With -v, the test prints how long the commands took.
func TestNewcomerFollowsThePage(t *testing.T) {
	text, err := os.ReadFile(repo.Path(t, "docs/argocd.md"))
	if err != nil {
		t.Fatal(err)
	}
	cp := controlplane.Start(t, controlplane.Alone("newcomer"))
	reader, forge := doctest.NewReader(t, t.TempDir()), newForge(t, "git.acme.example")
	w := &world{ControlPlane: cp, repository: repository{dir: reader.Private("/tmp/argocd")}}
	if err := cp.Client().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: argocdNamespace}}); err != nil {
		t.Fatal(err)
	}
	w.install(t)
	w.startFromForge(t, reader, forge)
	start := time.Now()
	for _, step := range doctest.Parse(t, string(text)) {
		reader.Follow(t, step)
	}
	w.expectDelivered(t, "dev")
	t.Logf("the commands of docs/argocd.md took %s, from the first command until Argo CD had applied all objects", time.Since(start).Round(time.Second))
}

// startFromForge starts Argo CD with the given Git server, and configures Git and kubectl for the commands
// that the doctest.Reader runs.
func (w *world) startFromForge(t *testing.T, reader *doctest.Reader, forge forge) {
	t.Helper()
	startArgoCD(t, w.ControlPlane, "HTTPS_PROXY="+forge.proxy, "https_proxy="+forge.proxy, "SSL_CERT_FILE="+forge.certificate, "GIT_SSL_CAINFO="+forge.certificate)
	config := filepath.Join(t.TempDir(), "gitconfig")
	write(t, config, fmt.Sprintf(personConfig, forge.proxy))
	reader.Environment = []string{
		"PATH=" + filepath.Dir(w.Tool("kubectl")) + ":" + os.Getenv("PATH"), "KUBECONFIG=" + w.Kubeconfig(),
		"GIT_CONFIG_GLOBAL=" + config, "GIT_CONFIG_SYSTEM=/dev/null", "GIT_SSL_CAINFO=" + forge.certificate,
	}
}

// expectDelivered checks that Argo CD has applied the pushed commit and tracks all objects of an environment.
func (w *world) expectDelivered(t *testing.T, environment string) {
	t.Helper()
	delivered := w.inSync(w.headCommit(t))
	w.eventuallyNamed(t, "acme-"+environment, "the platform is applied", func(app *unstructured.Unstructured) error {
		if got, want := len(resources(app)), w.objectFiles(t, environment); got != want {
			return fmt.Errorf("Argo CD has %d objects, and the bundle has %d objects", got, want)
		}
		return delivered(app)
	})
	if !w.hasObject(t.Context(), runtimeKind, client.ObjectKey{Name: "mpi"}) {
		t.Error("the runtime is not in the cluster")
	}
}
