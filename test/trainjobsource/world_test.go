package trainjobsource

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/go-logr/logr"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/controller/trainjobsource/decode"
	"github.com/trainyard/trainyard/controller/trainjobsource/plan"
	"github.com/trainyard/trainyard/controller/trainjobsource/reconcile"
	"github.com/trainyard/trainyard/controller/trainjobsource/trainjobs"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/test/controlplane"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	code := controlplane.Main(m)
	removeProgram()
	os.Exit(code)
}

// The variable "tenants" contains the names of the tenants in the platform document. The namespace of each tenant has
// the same name as the tenant.
var tenants = []string{"team-a", "team-b"}

// document is a platform document with two tenants. From this document, the tests generate the admission policy, and
// the rights of the controller and the tenants.
const document = `apiVersion: trainyard.dev/v1alpha1
kind: Platform
metadata: {name: acme}
spec:
  controller: {enabled: true}
  runtimes: {mpi: {from: openmpi-cpu, image: "quay.io/acme/mpi:1"}}
  tenants:
    team-a: {runtimes: [mpi], namespace: {create: true}, editors: {users: [eve]}}
    team-b: {runtimes: [mpi], namespace: {create: true}}
`

// world is an API server with two tenants, and a TrainJobSource of the first tenant. Neither Trainer nor Kubernetes'
// controllers run. Therefore, the tests themselves set the final status of TrainJobs. The tests also remove the
// finalizers of TrainJobs that are being deleted.
type world struct {
	t          *testing.T
	cp         *controlplane.ControlPlane
	source     reconcile.Source
	files      fstest.MapFS    // the files in Git
	denied     map[string]bool // the jobs that the rules forbid
	deleted    map[string]bool // the names of TrainJobSources that do not exist
	reconciler *reconcile.Reconciler
	transport  *transport
}

func newWorld(t *testing.T, policy plan.Policy, opts ...controlplane.Option) *world {
	t.Helper()
	cp := controlplane.Start(t, append(opts, controlplane.CRDsOnly())...)
	w := &world{t: t, cp: cp, files: fstest.MapFS{}, source: reconcile.Source{Namespace: tenants[0], Name: "jobs", Account: "trainyard-jobs", Policy: policy}, deleted: map[string]bool{}}
	w.applyPlatform()
	w.clear()
	t.Cleanup(w.clear)
	w.restart(0)
	return w
}

func (w *world) applyPlatform() {
	w.t.Helper()
	platforms, err := generator.New(trainyard.CUE).Generate(w.t.Context(), generator.Request{Layers: []generator.Input{{Name: "platform.yaml", Text: []byte(document)}}})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, name := range append([]string{v1alpha1.SystemNamespace}, tenants...) {
		err := w.cp.Client().Create(w.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			w.t.Fatal(err)
		}
	}
	for object := range platforms[0].Objects.All() {
		if err := w.cp.Apply(w.t.Context(), &unstructured.Unstructured{Object: object.Fields()}); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) clear() {
	ctx := context.Background()
	for _, namespace := range tenants {
		if err := w.cp.Client().DeleteAllOf(ctx, &trainer.TrainJob{}, client.InNamespace(namespace)); err != nil {
			w.t.Error(err)
		}
	}
	for _, namespace := range tenants {
		err := w.cp.Client().DeleteAllOf(ctx, &corev1.ConfigMap{}, client.InNamespace(v1alpha1.SystemNamespace), client.MatchingLabels{v1alpha1.TenantLabel: namespace}, client.HasLabels{trainjobs.SourceLabel})
		if err != nil {
			w.t.Error(err)
		}
	}
}

// restart creates a Reconciler that crashes after the given number of writes, or never if the number is 0.
func (w *world) restart(writes int64) {
	w.transport = &transport{crashAfter: writes, before: map[requestKind]func(){}}
	connect := func(as string) (client.Client, error) {
		config := w.cp.Config()
		config.Impersonate = rest.ImpersonationConfig{UserName: as}
		config.QPS = -1
		config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) { return w.transport.send(next, r) })
		})
		return client.New(config, client.Options{Scheme: w.cp.Client().Scheme(), Mapper: w.cp.Client().RESTMapper()})
	}
	records, err := connect("")
	if err != nil {
		w.t.Fatal(err)
	}
	jobs := map[string]client.Client{}
	w.reconciler = &reconcile.Reconciler{
		Records: records, Now: time.Now,
		TrainJobs: func(namespace, account string) (c client.Client, err error) {
			if jobs[namespace] == nil {
				jobs[namespace], err = connect("system:serviceaccount:" + namespace + ":" + account)
			}
			return jobs[namespace], err
		},
		Exists: func(_ context.Context, _, name string) (bool, error) { return !w.deleted[name], nil },
	}
}

// commit writes the file of a job to the simulated Git repository, or removes the file if the
// argument "spec" is empty.
func (w *world) commit(job, spec string, more ...string) {
	file := job + ".yaml"
	delete(w.files, file)
	if spec != "" {
		text := fmt.Sprintf("apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: %s%s}\nspec: {runtimeRef: {name: mpi}, trainer: {%s}}\n", job, strings.Join(more, ""), spec)
		w.files[file] = &fstest.MapFile{Data: []byte(text)}
	}
}

func (w *world) round() (reconcile.Result, error) {
	w.t.Helper()
	tree, err := decode.Read(w.files, ".", w.source.Namespace, decode.DefaultLimits)
	if err != nil {
		w.t.Fatal(err)
	}
	result, err := w.reconciler.Reconcile(w.t.Context(), w.source, tree, w.denied)
	w.completeDeletions()
	return result, err
}

// settle runs rounds until a round writes nothing.
func (w *world) settle() map[string]plan.State {
	w.t.Helper()
	for range 20 {
		result, err := w.round()
		if err != nil {
			w.t.Fatal(err)
		}
		if !result.Changed {
			return result.States
		}
	}
	w.t.Fatal("rounds do not come to an end")
	return nil
}

func (w *world) list() map[string]trainer.TrainJob {
	w.t.Helper()
	var list trainer.TrainJobList
	if err := w.cp.Client().List(w.t.Context(), &list, client.InNamespace(w.source.Namespace)); err != nil {
		w.t.Fatal(err)
	}
	all := map[string]trainer.TrainJob{}
	for _, t := range list.Items {
		all[t.Name] = t
	}
	return all
}

// completeDeletions does the work of the garbage collector: it removes the finalizers of TrainJobs that are being deleted.
func (w *world) completeDeletions() {
	w.t.Helper()
	for _, t := range w.list() {
		if t.DeletionTimestamp == nil {
			continue
		}
		t.Finalizers = nil
		if err := w.cp.Client().Update(w.t.Context(), &t); client.IgnoreNotFound(err) != nil {
			w.t.Fatal(err)
		}
	}
}

// end(name, condition) simulates the end of the TrainJob with this name. Like Trainer, the method sets the given
// condition of the TrainJob to the status "True".
func (w *world) end(name, condition string) {
	w.t.Helper()
	t := w.list()[name]
	meta.SetStatusCondition(&t.Status.Conditions, metav1.Condition{Type: condition, Status: "True", Reason: "Test", Message: "ended by the test"})
	if err := w.cp.Client().Status().Update(w.t.Context(), &t); err != nil {
		w.t.Fatal(err)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

var errCrashed = errors.New("the controller has crashed")

// transport counts requests, and simulates a crash after a number of writes. The last write before the crash reaches the
// API server, but its response is lost, and all later requests fail.
type transport struct {
	crashAfter     int64                  // 0 means never
	before         map[requestKind]func() // called once, before the next request of the given kind
	repeatCreates  bool                   // whether each create request of a TrainJob is sent twice, as if the first response was lost
	writes, others atomic.Int64
}

type requestKind string

const (
	createRequest  requestKind = "create"
	convertRequest requestKind = "convert" // changes the managedFields
	applyRequest   requestKind = "apply"
)

func kindOf(r *http.Request) requestKind {
	switch types.PatchType(r.Header.Get("Content-Type")) {
	case types.JSONPatchType:
		return convertRequest
	case types.ApplyPatchType:
		return applyRequest
	}
	if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/trainjobs") {
		return createRequest
	}
	return ""
}

func repeat(next http.RoundTripper, r *http.Request) error {
	body, err := r.GetBody()
	if err != nil {
		return err
	}
	first := r.Clone(r.Context())
	first.Body = body
	response, err := next.RoundTrip(first)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

func (t *transport) send(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	if t.crashed() {
		return nil, errCrashed
	}
	kind := kindOf(r)
	if call := t.before[kind]; call != nil {
		delete(t.before, kind)
		call()
	}
	if kind == createRequest && t.repeatCreates {
		if err := repeat(next, r); err != nil {
			return nil, err
		}
	}
	response, err := next.RoundTrip(r)
	if r.Method == http.MethodGet {
		t.others.Add(1)
		return response, err
	}
	t.writes.Add(1)
	if t.crashed() {
		if err == nil {
			_ = response.Body.Close()
		}
		return nil, errCrashed
	}
	return response, err
}

func (t *transport) crashed() bool { return t.crashAfter > 0 && t.writes.Load() >= t.crashAfter }
