// Package helm installs a generated chart with Helm 3 and Helm 4. The tests apply the objects of the chart to a real
// API server with a running Trainer.
package helm

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/test/controlplane"
	"github.com/trainyard/trainyard/test/repo"
)

func TestMain(m *testing.M) { os.Exit(controlplane.Main(m)) }

const document = `
apiVersion: trainyard.dev/v1alpha1
kind: Platform
metadata: {name: charted}
spec:
  runtimes:
    mpi: {from: openmpi-cpu, image: quay.io/acme/openmpi:4.1.6}
  tenants:
    charted-team: {namespace: {create: true}, runtimes: [mpi], quota: {cpu: 100}, editors: {groups: [team]}}
`

type release struct {
	*controlplane.ControlPlane
	helm, chart string
}

func (r release) run(t *testing.T, verb string, args ...string) string {
	t.Helper()
	args = append([]string{verb, "charted", "--namespace", "default", "--kubeconfig", r.Kubeconfig()}, args...)
	out, err := exec.Command(r.helm, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("helm %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func (r release) getObject(t *testing.T, kind schema.GroupVersionKind, namespace, name string) map[string]any {
	t.Helper()
	var o unstructured.Unstructured
	o.SetGroupVersionKind(kind)
	err := r.Client().Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, &o)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return o.Object
}

var (
	runtimes   = schema.GroupVersionKind{Group: v1alpha1.TrainerGroup, Version: "v1alpha1", Kind: "ClusterTrainingRuntime"}
	configMaps = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	namespaces = schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
	bindings   = schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"}
	policies   = schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingAdmissionPolicy"}
)

// TestChartIsInstalled installs a release, upgrades it with other values, and upgrades it again without a change. Then
// the test uninstalls the release. The namespaces and the admission policy must stay in the cluster. A new installation
// of the release must succeed although these objects exist.
func TestChartIsInstalled(t *testing.T) {
	dir := t.TempDir()
	file, chart := filepath.Join(dir, "platform.yaml"), filepath.Join(dir, "chart")
	if err := os.WriteFile(file, []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	program := repo.Build(t)
	if out, err := exec.Command(program, "generate", "-f", file, "--format", "helm", "-o", chart).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cluster := controlplane.Start(t)
	for _, version := range []string{"helm-3", "helm-4"} {
		t.Run(version, func(t *testing.T) { release{cluster, repo.Tool(t, version), chart}.live(t) })
	}
}

func (r release) live(t *testing.T) {
	output := r.run(t, "install", r.chart)
	if !strings.Contains(output, "kubectl get clustertrainingruntimes,trainingruntimes --all-namespaces -l trainyard.dev/platform=charted") {
		t.Errorf("the notes do not list the runtimes:\n%s", output)
	}
	r.expectImage(t, "quay.io/acme/openmpi:4.1.6")
	if r.getObject(t, bindings, "charted-team", "trainyard-editor") != nil {
		t.Error("editors have rights although the admission policy was not in force before")
	}

	r.run(t, "upgrade", r.chart, "--set", "runtimes.mpi.image=quay.io/acme/openmpi:4.1.7,imageRegistry=mirror.example")
	r.expectImage(t, "mirror.example/acme/openmpi:4.1.7")
	if r.getObject(t, bindings, "charted-team", "trainyard-editor") == nil {
		t.Error("editors have no rights although the admission policy is in force")
	}

	before := r.getObject(t, runtimes, "", "mpi")
	r.run(t, "upgrade", r.chart, "--set", "runtimes.mpi.image=quay.io/acme/openmpi:4.1.7,imageRegistry=mirror.example")
	if diff := cmp.Diff(before, r.getObject(t, runtimes, "", "mpi")); diff != "" {
		t.Errorf("an upgrade with the same values changed the runtime: -before +after:\n%s", diff)
	}

	r.run(t, "uninstall")
	if r.getObject(t, runtimes, "", "mpi") != nil {
		t.Error("uninstall kept the runtime, want it deleted")
	}
	for _, kept := range []string{"charted-team", v1alpha1.SystemNamespace} {
		if r.getObject(t, namespaces, "", kept)["status"].(map[string]any)["phase"] != string(corev1.NamespaceActive) { //nolint:forcetypeassert // the API server sets the phase
			t.Errorf("uninstall deleted the namespace %s, want it kept", kept)
		}
	}
	if r.getObject(t, policies, "", "trainyard-trainjobs") == nil {
		t.Error("uninstall deleted the admission policy, want it kept")
	}

	r.run(t, "install", r.chart)
	r.expectImage(t, "quay.io/acme/openmpi:4.1.6")
	r.run(t, "uninstall")
}

// expectImage checks the image in the runtime and in the parameters of the admission policy. The policy compares
// the images of TrainJobs with these parameters.
func (r release) expectImage(t *testing.T, want string) {
	t.Helper()
	text, err := (&unstructured.Unstructured{Object: r.getObject(t, runtimes, "", "mpi")}).MarshalJSON()
	if err != nil || strings.Count(string(text), `"image":"`+want+`"`) < 2 {
		t.Errorf("the runtime does not have the image %s: %v\n%s", want, err, text)
	}
	data, _ := r.getObject(t, configMaps, v1alpha1.SystemNamespace, "trainyard-charted-team")["data"].(map[string]any)
	if data["mpi.image"] != want {
		t.Errorf("the policy compares TrainJobs with %v, want %s", data["mpi.image"], want)
	}
}
