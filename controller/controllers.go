package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/trainyard/trainyard/api/jobs"
	"github.com/trainyard/trainyard/controller/trainjob"
	"github.com/trainyard/trainyard/controller/trainjobsource"
	"github.com/trainyard/trainyard/controller/trainjobsource/fetch"
	"github.com/trainyard/trainyard/controller/trainjobsource/receiver"
)

// The names of the controllers.
const (
	// TrainJobs is the name of the controller that reports the state of TrainJobs.
	TrainJobs = "trainjob"
	// TrainJobSources is the name of the controller that runs the TrainJobs of Git repositories.
	TrainJobSources = "trainjobsource"
)

// setups maps the name of each controller to the function that adds the controller to a manager.
var setups = map[string]func(ctrl.Manager, Options) error{
	TrainJobs:       setupTrainJob,
	TrainJobSources: setupTrainJobSource,
}

// Names returns the names of all controllers, in alphabetical order.
func Names() []string { return slices.Sorted(maps.Keys(setups)) }

// setupTrainJob adds the controller that reports the state of TrainJobs.
func setupTrainJob(mgr ctrl.Manager, o Options) error {
	texts, err := jobs.Connect(mgr.GetConfig())
	if err != nil {
		return err
	}
	values := trainjob.NewMetrics(time.Now)
	if err := register(mgr, values); err != nil {
		return err
	}
	return trainjob.New(mgr, texts, values, o.ReadOnly).Setup(context.Background(), mgr, o.Workers)
}

// setupTrainJobSource adds the controller of TrainJobSources, and the receiver of webhooks.
func setupTrainJobSource(mgr ctrl.Manager, o Options) error {
	fetcher, err := fetch.New(fetch.Options{Network: o.Network})
	if err != nil {
		return err
	}
	values := trainjobsource.NewMetrics(time.Now)
	if err := register(mgr, values); err != nil {
		return err
	}
	if o.HookAddress != "" {
		hooks := &receiver.Receiver{Client: mgr.GetClient(), Secrets: mgr.GetAPIReader()}
		if err := mgr.Add(hooks.Server(o.HookAddress)); err != nil {
			return fmt.Errorf("adding the receiver of webhooks: %w", err)
		}
	}
	return trainjobsource.New(mgr, fetcher, values).Setup(mgr, o.Workers)
}

// setupRuntimes adds the metric that describes the training runtimes in the cluster.
func setupRuntimes(mgr ctrl.Manager) error {
	values, err := newRuntimes(mgr)
	if err != nil {
		return err
	}
	return register(mgr, values)
}

// register adds metrics to the metrics endpoint, and removes them when the manager stops.
func register(mgr ctrl.Manager, values collector) error {
	if err := metrics.Registry.Register(values); err != nil {
		return fmt.Errorf("registering metrics: %w", err)
	}
	return mgr.Add(unregister{values})
}
