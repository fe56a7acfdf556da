package trainjobsource

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/controller/trainjobsource/decode"
	"github.com/trainyard/trainyard/controller/trainjobsource/fetch"
	"github.com/trainyard/trainyard/controller/trainjobsource/reconcile"
)

// Fetcher fetches commits from Git servers. The error of a fetch is a *fetch.ConfigError, a *fetch.VerifyError,
// or another error, which may be temporary.
type Fetcher interface {
	Fetch(ctx context.Context, r fetch.Request) (fetch.Result, error)
}

// Controller reconciles TrainJobSources. All exported fields must be set.
type Controller struct {
	// Client reads TrainJobSources from a cache, and writes their status.
	Client client.Client
	// Reader reads from the API server, without a cache. A cache of Secrets would need the right to list Secrets, but
	// the controller may only get single Secrets.
	Reader  client.Reader
	Fetcher Fetcher
	Rounds  *reconcile.Reconciler
	Events  events.EventRecorder
	Metrics *Metrics
	// Limits contains the limits for the folder of each TrainJobSource. The function New sets the
	// field Limits to decode.DefaultLimits.
	Limits decode.Limits

	memory   memory
	slots    slots
	readings readings
}

// New returns a Controller that connects to a cluster through a manager.
func New(mgr ctrl.Manager, fetcher Fetcher, metrics *Metrics) *Controller {
	c := &Controller{
		Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Fetcher: fetcher, Metrics: metrics,
		Events: mgr.GetEventRecorder(controllerName), Limits: decode.DefaultLimits,
	}
	accounts := newAccounts(mgr.GetConfig(), client.Options{Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
	c.Rounds = &reconcile.Reconciler{
		Records: &uncached{Client: mgr.GetClient(), reader: mgr.GetAPIReader()}, TrainJobs: accounts.client, Exists: c.exists, Now: time.Now,
	}
	return c
}

// uncached is a client that reads from the API server instead of from a cache.
type uncached struct {
	client.Client
	reader client.Reader
}

// Get reads an object from the API server.
func (u *uncached) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	return u.reader.Get(ctx, key, object, options...)
}

// List reads objects from the API server.
func (u *uncached) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return u.reader.List(ctx, list, options...)
}

// exists reports whether a TrainJobSource exists.
func (c *Controller) exists(ctx context.Context, namespace, name string) (bool, error) {
	err := c.Reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &v1alpha1.TrainJobSource{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// Reconcile runs one round for a TrainJobSource. The package documentation describes the steps of a round.
func (c *Controller) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	defer c.Metrics.start(request.NamespacedName)()
	events := c.memory.eventCount(request.NamespacedName) // if an event arrives later, the next round does not end early
	source := &v1alpha1.TrainJobSource{}
	if err := c.Client.Get(ctx, request.NamespacedName, source); apierrors.IsNotFound(err) {
		c.memory.forget(request.NamespacedName)
		c.Metrics.forget(request.NamespacedName)
		return ctrl.Result{}, nil
	} else if err != nil {
		return ctrl.Result{}, fmt.Errorf("reading the TrainJobSource: %w", err)
	}
	r := c.newRound(source)
	r.events = events
	switch {
	case !source.DeletionTimestamp.IsZero():
		return r.delete(ctx)
	case source.Spec.Suspend:
		r.suspend()
	default:
		if err := r.run(ctx); err != nil {
			return ctrl.Result{}, err
		}
	}
	if !r.busy {
		r.state.waiting = time.Time{}
	}
	if err := r.writeStatus(ctx); err != nil {
		return ctrl.Result{}, err
	}
	r.rememberSettled()
	return ctrl.Result{RequeueAfter: r.next()}, nil
}
