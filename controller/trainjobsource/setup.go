package trainjobsource

import (
	"context"
	"maps"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/controller/trainjobsource/trainjobs"
)

// controllerName is the name of the controller in events. In logs and metrics, the name of the controller is
// "trainyard_trainjobsource".
const controllerName = "trainjobsource"

// maxPanicDelay is the longest delay after a round that ended with a panic, or that could not read or write its
// TrainJobSource.
const maxPanicDelay = 10 * time.Minute

// Setup adds the controller to a manager. The argument "workers" is the number of rounds that run at the same time.
func (c *Controller) Setup(mgr ctrl.Manager, workers int) error {
	c.slots.setLimits(workers)
	return ctrl.NewControllerManagedBy(mgr).Named("trainyard_"+controllerName).
		Watches(&v1alpha1.TrainJobSource{}, handler.EnqueueRequestsFromMapFunc(c.requestSource), builder.WithPredicates(sourceChanged())).
		Watches(&trainer.TrainJob{}, handler.EnqueueRequestsFromMapFunc(c.requestOwner), builder.WithPredicates(runChanged())).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers,
			RecoverPanic:            new(true), // a TrainJobSource that causes a panic must not stop the others
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Second, maxPanicDelay),
		}).
		Complete(c)
}

// requestSource requests a round for a TrainJobSource.
func (c *Controller) requestSource(_ context.Context, source client.Object) []reconcile.Request {
	return c.request(client.ObjectKeyFromObject(source))
}

// requestOwner requests a round for the TrainJobSource of a TrainJob.
func (c *Controller) requestOwner(_ context.Context, run client.Object) []reconcile.Request {
	source := run.GetLabels()[trainjobs.SourceLabel]
	if source == "" {
		return nil
	}
	return c.request(types.NamespacedName{Namespace: run.GetNamespace(), Name: source})
}

func (c *Controller) request(key types.NamespacedName) []reconcile.Request {
	c.Metrics.received(key)
	c.memory.countEvent(key)
	return []reconcile.Request{{NamespacedName: key}}
}

// sourceChanged returns a filter for events about TrainJobSources. The filter selects the creation and the deletion of
// a TrainJobSource, and each change of the spec. The filter also selects each change of an annotation that requests a
// fetch from Git, or that requests another run of a job. sourceChanged ignores changes of the status, because the
// controller itself writes the status.
func sourceChanged() predicate.Predicate {
	requested := predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.GetAnnotations(), e.ObjectNew.GetAnnotations()
		return before[v1alpha1.SyncAnnotation] != after[v1alpha1.SyncAnnotation] || !maps.Equal(retries(before), retries(after))
	}}
	return predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, requested)
}

// runChanged returns a filter for events about TrainJobs. The filter ignores updates that cannot change a plan.
func runChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*trainer.TrainJob)
		after, also := e.ObjectNew.(*trainer.TrainJob)
		if !ok || !also {
			return true
		}
		source := after.Labels[trainjobs.SourceLabel]
		return before.Labels[trainjobs.SourceLabel] != source || trainjobs.Read(source, before) != trainjobs.Read(source, after)
	}}
}
