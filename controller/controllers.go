package controller

import (
	"fmt"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/trainyard/trainyard/controller/trainjobsource"
	"github.com/trainyard/trainyard/controller/trainjobsource/fetch"
	"github.com/trainyard/trainyard/controller/trainjobsource/receiver"
)

// setups lists all controllers: the name of each controller, and the function that adds it to a manager.
var setups = map[string]func(ctrl.Manager, Options) error{
	"runtimes":       setupRuntimes,
	"trainjobsource": setupTrainJobSource,
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

// setupRuntimes adds the metric of the runtimes in the cluster.
func setupRuntimes(mgr ctrl.Manager, _ Options) error {
	values, err := newRuntimes(mgr)
	if err != nil {
		return err
	}
	return register(mgr, values)
}

// register adds metrics to the metrics endpoint until the manager stops.
func register(mgr ctrl.Manager, values collector) error {
	if err := metrics.Registry.Register(values); err != nil {
		return fmt.Errorf("registering metrics: %w", err)
	}
	return mgr.Add(unregister{values})
}
