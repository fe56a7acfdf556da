package gitbench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/controller"
	"github.com/trainyard/trainyard/test/controlplane"
	"github.com/trainyard/trainyard/test/repo"
)

const (
	fetchInterval = time.Minute     // the time between two fetches of a repository
	applyInterval = 5 * time.Minute // the time between two comparisons of TrainJobs with Git, for Flux
)

// system is a set of programs that create the TrainJobs of Git repositories in a cluster.
type system struct {
	name  string
	start func(testing.TB, *cluster) []*program
	// declare returns the objects that tell the programs of the system to apply a repository.
	declare func(repository) []client.Object
	// syncAnnotation is the key of an annotation on the first object that the function "declare" returns. A
	// new value of this annotation makes the system fetch the repository.
	syncAnnotation string
}

// All programs run without leader election. trainyard-controller receives no webhooks of Git servers.
// trainyard-controller contains two controllers, but only the controller of TrainJobSources runs here. The controller
// that reports the state of TrainJobs does not run, because Flux has no controller for this purpose. The following
// settings also differ from their default values: addresses, paths, and the settings that allow a Git server on the
// loopback address. The programs use the default values of all settings that this comment does not mention.
var systems = []system{
	{"trainyard-controller", startSources, declareTrainyard, v1alpha1.Group + "/sync"},
	{"Flux", startFlux, declareFlux, "reconcile.fluxcd.io/requestedAt"},
}

func startSources(t testing.TB, c *cluster) []*program {
	t.Helper()
	return startTrainyard(t, c, "--controllers", controller.TrainJobSources)
}

func startTrainyard(t testing.TB, c *cluster, args ...string) []*program {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "trainyard-controller")
	if err := repo.Compile("trainyard-controller", binary); err != nil {
		t.Fatal(err)
	}
	metrics, health := controlplane.FreeAddress(t), controlplane.FreeAddress(t)
	args = append(args, "--kubeconfig", c.controllerKubeconfig(t), "--metrics-address", metrics, "--health-address", health,
		"--webhook-address=", "--leader-elect=false", "--allow-http", c.gitHost(), "--allow-address", "127.0.0.1/32")
	cmd := exec.Command(binary, args...)
	return []*program{start(t, cmd, metrics, health)}
}

func declareTrainyard(r repository) []client.Object {
	source := &v1alpha1.TrainJobSource{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "TrainJobSource"},
		ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: r.name},
		Spec:       v1alpha1.TrainJobSourceSpec{URL: r.url, Interval: metav1.Duration{Duration: fetchInterval}},
	}
	return []client.Object{source}
}

// startFlux starts source-controller and kustomize-controller with the rights of an administrator. kustomize-controller
// impersonates ServiceAccounts. trainyard-controller impersonates the same ServiceAccounts.
func startFlux(t testing.TB, c *cluster) []*program {
	t.Helper()
	artifacts := controlplane.FreeAddress(t)
	return []*program{
		startFluxProgram(t, c, "source-controller", "--storage-path", t.TempDir(), "--storage-addr", artifacts, "--storage-adv-addr", artifacts),
		startFluxProgram(t, c, "kustomize-controller"),
	}
}

func startFluxProgram(t testing.TB, c *cluster, name string, args ...string) *program {
	t.Helper()
	metrics, health := controlplane.FreeAddress(t), controlplane.FreeAddress(t)
	args = append(args, "--metrics-addr", metrics, "--health-addr", health, "--enable-leader-election=false", "--watch-all-namespaces=true")
	cmd := exec.Command(c.cp.Tool(filepath.Join("flux", name)), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.cp.Kubeconfig(), "RUNTIME_NAMESPACE="+v1alpha1.SystemNamespace)
	return start(t, cmd, metrics, health)
}

func declareFlux(r repository) []client.Object {
	source := fluxObject("source.toolkit.fluxcd.io/v1", "GitRepository", r, map[string]any{
		"url": r.url, "interval": fetchInterval.String(), "ref": map[string]any{"branch": "main"},
	})
	apply := fluxObject("kustomize.toolkit.fluxcd.io/v1", "Kustomization", r, map[string]any{
		"sourceRef": map[string]any{"kind": "GitRepository", "name": r.name}, "path": "./", "prune": true,
		"interval": applyInterval.String(), "targetNamespace": r.namespace, "serviceAccountName": "trainyard-jobs",
	})
	return []client.Object{source, apply}
}

func fluxObject(version, kind string, r repository, spec map[string]any) client.Object {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": version, "kind": kind, "metadata": map[string]any{"namespace": r.namespace, "name": r.name}, "spec": spec,
	}}
}

func (c *cluster) gitHost() string {
	return strings.TrimSuffix(strings.TrimPrefix(c.server.HTTP(""), "http://"), "/")
}

func (s system) requestFetch(t testing.TB, c *cluster, r repository, n int) {
	t.Helper()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:"%d"}}}`, s.syncAnnotation, n)
	if err := c.client.Patch(t.Context(), s.declare(r)[0], client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		t.Fatal(err)
	}
}
