package controller

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/go-logr/logr"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainyard/trainyard/api/jobs"
	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/controller/trainjobsource/fetch"
	"github.com/trainyard/trainyard/controller/trainjobsource/reconcile"
)

// name is the name of the program in leases and in requests to the API server.
const name = "trainyard-controller"

// shutdownTimeout limits how long the program waits before it stops. During this wait, reconciliations that have
// already begun can end. If a reconciliation does not end in time, the controllers repeat this reconciliation after the
// next start of the program.
const shutdownTimeout = 20 * time.Second

// Options are the settings of the controllers.
type Options struct {
	// Controllers are the names of the controllers that run. The function Names lists all controllers.
	Controllers []string
	// Shard is a value of the label v1alpha1.ShardLabel, and selects the TrainJobSources whose label has this value. An
	// empty Shard selects the TrainJobSources without this label. All TrainJobSources of a namespace must have the same
	// shard.
	Shard string
	// Workers is the number of objects (TrainJobSources or TrainJobs) that each controller handles at the same time.
	Workers int
	// QPS limits the average number of requests per second to the API server. The field Burst is the maximum number
	// of requests that the program sends at once.
	QPS   float32
	Burst int
	// MetricsAddress, HealthAddress and HookAddress are the addresses of the program's servers, as
	// HOST:PORT. If the address of a server is empty, the server is switched off.
	MetricsAddress, HealthAddress, HookAddress string
	// ReadOnly means that the program serves metrics, but writes nothing to the cluster.
	ReadOnly bool
	// LeaderElection means that only one of several replicas runs the controllers at a time. In read-only mode, the
	// field has no effect.
	LeaderElection bool
	// Network restricts the Git servers to which the program connects.
	Network fetch.Network
	// Version and Revision identify the program.
	Version, Revision string
	Log               logr.Logger
}

// runs(name) returns true if the program must start the controller with this name. The program starts a controller only
// if the field Controllers contains its name. In read-only mode, the program does not start the controller of
// TrainJobSources. A cluster can run several copies of the program, one for each shard. Each copy reads only the
// TrainJobSources of its own shard, but it reads all TrainJobs. Only a copy whose field Shard is empty starts the
// controller that reports the state of TrainJobs. If every copy started this controller, each TrainJob would get the
// same events several times.
func (o Options) runs(name string) bool {
	switch {
	case name == TrainJobs && o.Shard != "", name == TrainJobSources && o.ReadOnly:
		return false
	}
	return slices.Contains(o.Controllers, name)
}

// running returns the names of the controllers that run.
func (o Options) running() []string {
	return slices.DeleteFunc(Names(), func(name string) bool { return !o.runs(name) })
}

// Check returns an error if the settings exclude all controllers.
func (o Options) Check() error {
	if len(o.running()) == 0 {
		return fmt.Errorf("no controller is left to run: --read-only excludes the controller %s, --shard excludes the controller %s, and --controllers excludes each controller that the flag does not list: change --controllers, --shard or --read-only", TrainJobSources, TrainJobs)
	}
	return nil
}

// Run runs the controllers until the context ends. Run returns nil if the controllers stop in an
// orderly way.
func Run(ctx context.Context, cluster *rest.Config, o Options) error {
	if err := o.Check(); err != nil {
		return err
	}
	mgr, err := newManager(cluster, o)
	if err != nil {
		return err
	}
	if err := setupRuntimes(mgr); err != nil {
		return fmt.Errorf("setting up the metric of runtimes: %w", err)
	}
	for _, name := range o.running() {
		if err := setups[name](mgr, o); err != nil {
			return fmt.Errorf("setting up %s: %w", name, err)
		}
	}
	if err := register(mgr, newBuildInfo(o.Version, o.Revision)); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// newManager returns a manager without controllers.
func newManager(cluster *rest.Config, o Options) (ctrl.Manager, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	caches, err := newCaches(o)
	if err != nil {
		return nil, err
	}
	cluster = rest.CopyConfig(cluster)
	cluster.UserAgent = name + "/" + o.Version
	// All clients of the API server share one rate limit, including the clients that impersonate
	// ServiceAccounts.
	cluster.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(o.QPS, o.Burst)
	cluster.Wrap(reconcile.RefuseAfterPause)
	mgr, err := ctrl.NewManager(cluster, ctrl.Options{
		Scheme: scheme, Cache: caches, Logger: o.Log,
		Metrics: server.Options{BindAddress: orOff(o.MetricsAddress)}, HealthProbeBindAddress: orOff(o.HealthAddress),
		LeaderElection: o.LeaderElection && !o.ReadOnly, LeaderElectionID: o.leaseName(), LeaderElectionNamespace: v1alpha1.SystemNamespace,
		LeaderElectionReleaseOnCancel: true, // allowed, because the program ends right after the manager
		GracefulShutdownTimeout:       new(shutdownTimeout),
		Controller:                    config.Controller{SkipNameValidation: new(true)}, // the keys of setups are unique
	})
	if err != nil {
		return nil, describeConnection(err)
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, fmt.Errorf("adding the health check: %w", err)
	}
	if err := mgr.AddReadyzCheck("caches", cachesReady(mgr)); err != nil {
		return nil, fmt.Errorf("adding the readiness check: %w", err)
	}
	return mgr, nil
}

// describeConnection describes why the manager could not connect to a cluster.
func describeConnection(err error) error {
	if meta.IsNoMatchError(err) {
		return fmt.Errorf("the cluster does not have a kind of object that trainyard-controller needs: install Kubeflow Trainer with JobSet, and the CRD of TrainJobSource: %w", err)
	}
	return fmt.Errorf("connecting to the cluster: %w", err)
}

// leaseName returns the name of the lease for leader election. Each shard of TrainJobSources has its own lease. A
// program that runs the controller of TrainJobSources uses the lease of its shard. A program that runs only the
// controller of TrainJobs uses a separate lease.
func (o Options) leaseName() string {
	switch {
	case !o.runs(TrainJobSources):
		return name + "." + TrainJobs
	case o.Shard != "":
		return name + "-" + o.Shard
	}
	return name
}

// orOff returns the address of a server. If the address is empty, orOff returns "0", which switches the server off.
func orOff(address string) string {
	if address == "" {
		return "0"
	}
	return address
}

// cachesReady checks that the caches contain the objects of the cluster.
func cachesReady(mgr ctrl.Manager) healthz.Checker {
	return func(r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		if !mgr.GetCache().WaitForCacheSync(ctx) {
			return fmt.Errorf("the objects of the cluster have not been read yet")
		}
		return nil
	}
}

// newScheme returns a scheme with the kinds of objects that the controllers use.
func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, trainer.AddToScheme, jobset.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("registering kinds: %w", err)
		}
	}
	return scheme, nil
}

// newCaches returns the settings of the caches. The caches hold only the objects that the controllers read, such as the
// TrainJobSources of the shard, all TrainJobs, and the pods of JobSets. If the settings contain a kind that the cluster
// lacks, the manager does not start. If one of the controllers does not run, newCaches therefore leaves out the kinds
// that only this controller reads.
func newCaches(o Options) (cache.Options, error) {
	objects := map[client.Object]cache.ByObject{&trainer.TrainJob{}: {Transform: strip}}
	if o.runs(TrainJobSources) {
		ofShard, err := selectShard(o.Shard)
		if err != nil {
			return cache.Options{}, fmt.Errorf("shard %q: %w", o.Shard, err)
		}
		objects[&v1alpha1.TrainJobSource{}] = cache.ByObject{Label: ofShard}
	}
	if o.runs(TrainJobs) {
		objects[&jobset.JobSet{}] = cache.ByObject{Transform: strip}
		objects[&corev1.Pod{}] = cache.ByObject{Label: hasLabel(jobs.JobSetLabel), Transform: strip}
		objects[networkPolicies()] = cache.ByObject{Label: hasLabel(v1alpha1.IsolationLabel)}
	}
	return cache.Options{DefaultTransform: cache.TransformStripManagedFields(), ByObject: objects}, nil
}

// selectShard returns the label selector that matches the TrainJobSources of a shard.
func selectShard(shard string) (labels.Selector, error) {
	operator, values := selection.DoesNotExist, []string(nil)
	if shard != "" {
		operator, values = selection.Equals, []string{shard}
	}
	requirement, err := labels.NewRequirement(v1alpha1.ShardLabel, operator, values)
	if err != nil {
		return nil, err
	}
	return labels.NewSelector().Add(*requirement), nil
}

// hasLabel selects all objects that have a label with the given key, whatever its value. The key must be a valid label key.
func hasLabel(key string) labels.Selector {
	selector, _ := labels.Parse(key) // all callers pass a constant
	return selector
}

// networkPolicies returns an object that tells a cache to store only the metadata of NetworkPolicies.
func networkPolicies() client.Object {
	kind := &metav1.PartialObjectMetadata{}
	kind.SetGroupVersionKind(networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"))
	return kind
}

// strip removes unused fields from an object before a cache stores the object.
func strip(object any) (any, error) {
	switch o := object.(type) {
	case *trainer.TrainJob:
		jobs.Strip(o)
	case *jobset.JobSet:
		jobs.StripJobSet(o)
	case *corev1.Pod:
		jobs.StripPod(o)
	}
	return object, nil
}
