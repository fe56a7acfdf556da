package trainjob

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainyard/trainyard/api/jobs"
)

// controllerName is the name of the controller in events. In logs and metrics, the name has the prefix "trainyard_", to
// distinguish this controller from Kueue's controller with the same name.
const controllerName = jobs.EventReporter

// refreshInterval is the interval at which the controller updates messages that can change at any time without an event
// from the API server. For example, the message of a TrainJob can change while the TrainJob waits for cluster nodes. A
// message of this kind must never be older than 30 seconds. The interval is 10 seconds shorter than this limit, because
// a busy controller can be late.
const refreshInterval = 20 * time.Second

// podsOfJobSet names the cache index that finds the pods of a JobSet.
const podsOfJobSet = "jobset"

// Controller observes TrainJobs. All fields must be set, except ReadOnly.
type Controller struct {
	// Client reads objects from a cache, and sends changes to the API server.
	Client client.Client
	// Live reads directly from the API server, without a cache.
	Live client.Reader
	// Queues reads the Workloads of Kueue.
	Queues  *queues
	Events  events.EventRecorder
	Metrics *Metrics
	Now     func() time.Time
	// ReadOnly means that the controller writes nothing to the cluster, but still exports metrics.
	ReadOnly bool

	began        time.Time
	explanations *explanations
	starts       *mpiStarts
	memory       memory
}

// New returns a Controller that connects to a cluster through a manager.
func New(mgr ctrl.Manager, client jobs.Jobs, metrics *Metrics, readOnly bool) *Controller {
	return &Controller{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Queues: newQueues(client, time.Now),
		Events: mgr.GetEventRecorder(controllerName), Metrics: metrics, Now: time.Now, ReadOnly: readOnly, began: time.Now(),
		explanations: newExplanations(client, time.Now), starts: newMPIStarts(client, metrics),
	}
}

// Setup adds the controller to a manager. The argument "workers" is the number of TrainJobs that can be reconciled at
// the same time.
func (c *Controller) Setup(ctx context.Context, mgr ctrl.Manager, workers int) error {
	err := mgr.GetFieldIndexer().IndexField(ctx, &corev1.Pod{}, podsOfJobSet, func(pod client.Object) []string {
		return []string{pod.GetLabels()[jobs.JobSetLabel]}
	})
	if err != nil {
		return fmt.Errorf("adding an index of pods: %w", err)
	}
	for _, background := range []manager.Runnable{c.explanations, c.starts} {
		if err := mgr.Add(background); err != nil {
			return fmt.Errorf("adding a reader of logs: %w", err)
		}
	}
	b := ctrl.NewControllerManagedBy(mgr).Named("trainyard_"+controllerName).For(&trainer.TrainJob{}).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(requestTrainJob)).
		WatchesMetadata(runtimeKind(trainer.ClusterTrainingRuntimeKind), handler.EnqueueRequestsFromMapFunc(c.requestUsers)).
		WatchesMetadata(runtimeKind(trainer.TrainingRuntimeKind), handler.EnqueueRequestsFromMapFunc(c.requestUsers)).
		WatchesRawSource(source.Channel(c.explanations.changed, &handler.EnqueueRequestForObject{}))
	if !c.ReadOnly {
		b = b.WatchesMetadata(&networkingv1.NetworkPolicy{}, handler.EnqueueRequestsFromMapFunc(c.requestIsolated))
	}
	return b.WithOptions(controller.Options{MaxConcurrentReconciles: workers, RecoverPanic: new(true)}).Complete(c)
}

// requestTrainJob returns a reconcile request for the TrainJob of a pod. The TrainJob of a pod has the same name as the
// JobSet of the pod. If no TrainJob has the name of the JobSet, the reconcile request has no effect.
func requestTrainJob(_ context.Context, pod client.Object) []reconcile.Request {
	name := pod.GetLabels()[jobs.JobSetLabel]
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: pod.GetNamespace(), Name: name}}}
}

// Reconcile reports the state of a TrainJob if the state has changed. Reconcile also applies the time limits of the runtime,
// and creates or deletes the NetworkPolicy of the TrainJob.
func (c *Controller) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	job := &trainer.TrainJob{}
	if err := c.Client.Get(ctx, request.NamespacedName, job); apierrors.IsNotFound(err) {
		c.memory.forget(request.NamespacedName)
		c.explanations.forget(request.NamespacedName)
		c.Metrics.forget(request.NamespacedName)
		return ctrl.Result{}, nil
	} else if err != nil {
		return ctrl.Result{}, fmt.Errorf("reading the TrainJob: %w", err)
	}
	snapshot, err := c.snapshot(ctx, job)
	if err != nil {
		return ctrl.Result{}, err
	}
	again, err := c.report(ctx, snapshot)
	return ctrl.Result{RequeueAfter: again}, errors.Join(err, c.isolate(ctx, snapshot))
}

// snapshot returns a TrainJob together with its pods. While the TrainJob is suspended or waits for cluster nodes, the
// result also contains the state of the TrainJob in its Kueue queue.
func (c *Controller) snapshot(ctx context.Context, job *trainer.TrainJob) (jobs.Snapshot, error) {
	pods := &corev1.PodList{}
	if err := c.Client.List(ctx, pods, client.InNamespace(job.Namespace), client.MatchingFields{podsOfJobSet: job.Name}); err != nil {
		return jobs.Snapshot{}, fmt.Errorf("listing the pods of the TrainJob: %w", err)
	}
	snapshot := jobs.MakeSnapshot(*job, pods.Items)
	snapshot.Now = c.Now()
	var err error
	if snapshot.Wanted, err = c.readWanted(ctx, job); err != nil {
		return snapshot, err
	}
	if phase := snapshot.Phase(); phase != jobs.Suspended && phase != jobs.GangScheduling {
		return snapshot, nil // the queue does not matter
	}
	withQueue, err := snapshot.WithWorkload(ctx, c.Queues)
	if err != nil {
		ctrl.LoggerFrom(ctx).V(1).Info("the queue of the TrainJob is unknown", "error", err)
	}
	return withQueue, nil
}

// readWanted returns the number of pods that the JobSet of a TrainJob requests for each role, such as launcher or
// node. The result is nil if the JobSet does not exist.
func (c *Controller) readWanted(ctx context.Context, job *trainer.TrainJob) (jobs.WantedPods, error) {
	set := &jobset.JobSet{}
	err := c.Client.Get(ctx, client.ObjectKeyFromObject(job), set)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the JobSet of the TrainJob: %w", err)
	}
	return jobs.CountWanted(set), nil
}

// report writes the metrics, the events and the annotations of a TrainJob, and applies the time limits of its runtime.
// The returned duration is the time until the next report, or 0 if no next report is planned. If one write fails, the
// remaining writes are still done. The method "report" then returns an error, so that the controller tries again.
func (c *Controller) report(ctx context.Context, snapshot jobs.Snapshot) (time.Duration, error) {
	now, settings := c.Now(), c.readRuntime(ctx, &snapshot.Job)
	before := c.memory.recall(&snapshot.Job)
	current := c.observe(snapshot, before, now)
	c.memory.remember(&snapshot.Job, current)
	c.Metrics.update(snapshot, settings.mpi, current)
	if !c.isOld(snapshot, before, now) {
		c.Metrics.observe(snapshot, settings.mpi, before, current)
	}
	if current.started && !before.started && !c.isOld(snapshot, before, now) {
		c.starts.add(snapshot, settings.mpi)
	}
	c.emit(snapshot, before, current)
	annotateErr := c.annotate(ctx, snapshot, current)
	timeout, timeoutErr := c.suspendLate(ctx, snapshot, current, settings.gangTimeout, now)
	expiry, expiryErr := c.deleteOld(ctx, snapshot, current, settings.ttl, now)
	return soonest(timeout, expiry, current.refresh()), errors.Join(annotateErr, timeoutErr, expiryErr)
}

// soonest returns the shortest duration that is not 0. If all durations are 0, soonest returns 0.
func soonest(all ...time.Duration) time.Duration {
	all = slices.DeleteFunc(all, func(d time.Duration) bool { return d == 0 })
	if len(all) == 0 {
		return 0
	}
	return slices.Min(all)
}
