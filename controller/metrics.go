package controller

import (
	"context"
	"fmt"
	"runtime"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"github.com/kubeflow/trainer/v2/pkg/constants"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/trainyard/trainyard/api/metrics"
	"github.com/trainyard/trainyard/api/v1alpha1"
)

type collector = prometheus.Collector

// unregister removes metrics when the manager stops, so that a process can run one manager after another.
type unregister struct{ values collector }

// Start is called when the manager starts. The method waits until the manager stops, and then removes the metrics.
func (u unregister) Start(ctx context.Context) error {
	<-ctx.Done()
	ctrlmetrics.Registry.Unregister(u.values)
	return nil
}

// NeedLeaderElection returns false, so that the manager calls Start even if this replica never becomes the leader. The
// metrics of such a replica must be removed too.
func (u unregister) NeedLeaderElection() bool { return false }

// newBuildInfo returns the metric that shows the program's version.
func newBuildInfo(version, revision string) collector {
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: metrics.BuildInfo, Help: "Version of the program, as labels of a series with the value 1.",
		ConstLabels: prometheus.Labels{metrics.LabelVersion: version, metrics.LabelRevision: revision, metrics.LabelGoVersion: runtime.Version()},
	})
	info.Set(1)
	return info
}

// The type "runtimes" is a Prometheus collector. Its metric describes the training runtimes in the cluster.
type runtimes struct {
	reader client.Reader // reads from a cache
	info   *prometheus.Desc
}

var runtimeKinds = []string{trainer.ClusterTrainingRuntimeKind, trainer.TrainingRuntimeKind}

// newRuntimes returns the metric of the runtimes. For this metric, the manager's cache stores the metadata of each
// runtime, but not its spec.
func newRuntimes(mgr ctrl.Manager) (*runtimes, error) {
	for _, kind := range runtimeKinds {
		object := &metav1.PartialObjectMetadata{}
		object.SetGroupVersionKind(trainer.GroupVersion.WithKind(kind))
		if _, err := mgr.GetCache().GetInformer(context.Background(), object, cache.BlockUntilSynced(false)); err != nil {
			return nil, fmt.Errorf("watching %ss: %w", kind, err)
		}
	}
	return &runtimes{mgr.GetCache(), prometheus.NewDesc(metrics.RuntimeInfo, "Information about a runtime, as labels of a series with the value 1.", []string{
		metrics.LabelRuntimeNamespace, metrics.LabelRuntime, metrics.LabelRuntimeKind, metrics.LabelMPI, metrics.LabelDeprecated,
	}, nil)}, nil
}

// Describe lists the metric for Prometheus.
func (r *runtimes) Describe(out chan<- *prometheus.Desc) { out <- r.info }

// Collect returns a series for each runtime. If runtimes of one kind cannot be read, for example because the cache
// has not started, Collect returns no series for this kind.
func (r *runtimes) Collect(out chan<- prometheus.Metric) {
	for _, kind := range runtimeKinds {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(trainer.GroupVersion.WithKind(kind + "List"))
		if err := r.reader.List(context.Background(), list); err != nil {
			continue
		}
		for _, found := range list.Items {
			deprecated := fmt.Sprint(found.Labels[constants.LabelSupport] == constants.SupportDeprecated)
			out <- prometheus.MustNewConstMetric(r.info, prometheus.GaugeValue, 1, found.Namespace, found.Name, kind, found.Labels[v1alpha1.MPILabel], deprecated)
		}
	}
}
