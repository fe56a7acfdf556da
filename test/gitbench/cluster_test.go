package gitbench

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/test/controlplane"
	"github.com/trainyard/trainyard/test/gitserver"
	"github.com/trainyard/trainyard/test/kubeconfig"
	"github.com/trainyard/trainyard/test/upstream"
)

type cluster struct {
	cp     *controlplane.ControlPlane // an API server
	client client.Client              // an administrator's client, which may send any number of requests per second
	server *gitserver.Server          // a Git server
}

func newCluster(t testing.TB) *cluster {
	t.Helper()
	c := &cluster{cp: controlplane.Start(t, controlplane.CRDsOnly()), server: gitserver.New(t)}
	scheme := c.cp.Client().Scheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	config := c.cp.Config()
	config.QPS = -1
	var err error
	if c.client, err = client.New(config, client.Options{Scheme: scheme, Mapper: c.cp.Client().RESTMapper()}); err != nil {
		t.Fatal(err)
	}
	c.applyPlatform(t)
	return c
}

func (c *cluster) installJobSetCRD(t testing.TB) {
	t.Helper()
	tools, err := upstream.Tools("trainer-2.3")
	if err != nil {
		t.Fatal(err)
	}
	manifests, err := tools.Manifests(upstream.JobSet)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := envtest.InstallCRDs(c.cp.Config(), envtest.CRDInstallOptions{CRDs: manifests.CRDs}); err != nil {
		t.Fatal(err)
	}
}

func (c *cluster) installFluxCRDs(t testing.TB) {
	t.Helper()
	var folders []string
	for _, name := range []string{"source-controller", "kustomize-controller"} {
		folder, err := upstream.ModuleFolder("flux/"+name, "github.com/fluxcd/"+name)
		if err != nil {
			t.Fatal(err)
		}
		folders = append(folders, filepath.Join(folder, "config/crd/bases"))
	}
	if _, err := envtest.InstallCRDs(c.cp.Config(), envtest.CRDInstallOptions{Paths: folders, ErrorIfPathMissing: true}); err != nil {
		t.Fatal(err)
	}
}

func (c *cluster) applyPlatform(t testing.TB) {
	t.Helper()
	var document strings.Builder
	document.WriteString(`apiVersion: trainyard.dev/v1alpha1
kind: Platform
metadata: {name: acme}
spec:
  controller: {enabled: true}
  runtimes: {mpi: {from: openmpi-cpu, image: "quay.io/acme/mpi:1"}}
  tenants:
`)
	for i := range maxNamespaces {
		fmt.Fprintf(&document, "    %s: {runtimes: [mpi], namespace: {create: true}}\n", namespace(i))
	}
	platforms, err := generator.New(trainyard.CUE).Generate(t.Context(), generator.Request{Layers: []generator.Input{{Name: "platform.yaml", Text: []byte(document.String())}}})
	if err != nil {
		t.Fatal(err)
	}
	system := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.SystemNamespace}}
	if err := c.client.Create(t.Context(), system); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	for object := range platforms[0].Objects.All() {
		if err := c.cp.Apply(t.Context(), &unstructured.Unstructured{Object: object.Fields()}); err != nil {
			t.Fatal(err)
		}
	}
}

// controllerKubeconfig writes a kubeconfig with a token of the ServiceAccount trainyard-controller, so that the
// controller has only the rights that the platform grants.
func (c *cluster) controllerKubeconfig(t testing.TB) string {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: "trainyard-controller"}}
	token := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(24 * 60 * 60))}}
	if err := c.client.SubResource("token").Create(t.Context(), account, token); err != nil {
		t.Fatal(err)
	}
	config, file := c.cp.Config(), filepath.Join(t.TempDir(), "kubeconfig")
	if err := kubeconfig.Write(file, config.Host, config.CAData, token.Status.Token); err != nil {
		t.Fatal(err)
	}
	return file
}

func newTrainJobs() *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.APIVersion, list.Kind = v1alpha1.TrainerAPIVersion, "TrainJobList"
	return list
}

// awaitTrainJobs waits until the number of TrainJobs in the cluster equals the argument "want". The API server should
// spend little time on the requests of awaitTrainJobs. Therefore awaitTrainJobs sets the limit of each list request to
// one TrainJob. In the response, the field remainingItemCount contains the number of TrainJobs that the response leaves
// out.
func (c *cluster) awaitTrainJobs(t testing.TB, want int, timeout time.Duration) {
	t.Helper()
	for deadline := time.Now().Add(timeout); ; time.Sleep(200 * time.Millisecond) {
		list := newTrainJobs()
		if err := c.client.List(t.Context(), list, client.Limit(1)); err != nil {
			t.Fatal(err)
		}
		found := int64(len(list.Items))
		if rest := list.RemainingItemCount; rest != nil {
			found += *rest
		}
		if found == int64(want) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %s, the cluster has %d TrainJobs, want %d", timeout, found, want)
		}
	}
}

func (c *cluster) awaitTrainJob(t testing.TB, namespace, name string) {
	t.Helper()
	job := &metav1.PartialObjectMetadata{}
	job.APIVersion, job.Kind = v1alpha1.TrainerAPIVersion, "TrainJob"
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		err := c.client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, job)
		if err == nil {
			return
		}
		if !apierrors.IsNotFound(err) || time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// clear cleans up after a measurement of the system s, which is trainyard-controller or Flux. clear deletes the objects
// that tell the system which Git repositories to read. clear also deletes the TrainJobs that the system has created,
// and the ConfigMaps in which the system keeps records. The caller must first stop the system's programs, because these
// programs would create the deleted TrainJobs again.
func (c *cluster) clear(t testing.TB, s system, repositories []repository) {
	t.Helper()
	for _, r := range repositories {
		for _, object := range s.declare(r) {
			patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
			if err := c.client.Patch(t.Context(), object, patch); err != nil {
				t.Fatal(err)
			}
			if err := c.client.Delete(t.Context(), object); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range maxNamespaces {
		job := &metav1.PartialObjectMetadata{}
		job.APIVersion, job.Kind = v1alpha1.TrainerAPIVersion, "TrainJob"
		records := client.MatchingLabels{v1alpha1.TenantLabel: namespace(i)}
		if err := c.client.DeleteAllOf(t.Context(), job, client.InNamespace(namespace(i))); err != nil {
			t.Fatal(err)
		}
		if err := c.client.DeleteAllOf(t.Context(), &corev1.ConfigMap{}, client.InNamespace(v1alpha1.SystemNamespace), records, client.HasLabels{v1alpha1.Group + "/source"}); err != nil {
			t.Fatal(err)
		}
	}
	c.awaitTrainJobs(t, 0, time.Minute)
}
