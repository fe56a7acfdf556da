// Package jobreport checks the annotations, the events and the metrics with which trainyard's controller reports the
// state of TrainJobs. The controller must run in the process of the test, because CheckValue reads the metrics of this
// process.
package jobreport

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-logr/logr"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	dto "github.com/prometheus/client_model/go"
	eventsv1 "k8s.io/api/events/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard/api/crds"
	"github.com/trainyard/trainyard/api/jobs"
	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/controller"
)

// account is the user name of trainyard-controller's ServiceAccount. The generated objects grant rights to this
// ServiceAccount.
const account = "system:serviceaccount:" + v1alpha1.SystemNamespace + ":trainyard-controller"

// Start runs trainyard's controllers with the rights of their ServiceAccount. The returned function "stop" stops the
// controllers. Start also creates the CRD of TrainJobSources.
func Start(kubeconfig string) (stop func() error, err error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(crds.TrainJobSource, crd); err != nil {
		return nil, err
	}
	if _, err := envtest.InstallCRDs(config, envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{crd}}); err != nil {
		return nil, fmt.Errorf("creating the CRD: %w", err)
	}
	config.Impersonate.UserName = account
	config.Impersonate.Groups = []string{"system:serviceaccounts", "system:authenticated"}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- controller.Run(ctx, config, controller.Options{Controllers: controller.Names(), Workers: 4, QPS: 200, Burst: 400, Log: logr.Discard()})
	}()
	return func() error {
		cancel()
		return <-done
	}, nil
}

// CheckAnnotations checks the phase and the message in the annotations of a TrainJob. If the phase differs from the
// given phase, CheckAnnotations returns an error. If the message does not contain the given text, CheckAnnotations also
// returns an error.
func CheckAnnotations(ctx context.Context, c client.Reader, job client.ObjectKey, phase jobs.Phase, text string) error {
	found := &trainer.TrainJob{}
	if err := c.Get(ctx, job, found); err != nil {
		return err
	}
	got, message := found.Annotations[v1alpha1.PhaseAnnotation], found.Annotations[v1alpha1.MessageAnnotation]
	if got != string(phase) || !strings.Contains(message, text) {
		return fmt.Errorf("got phase %q and message %q, want phase %q and a message that contains %q", got, message, phase, text)
	}
	return nil
}

// Reasons returns the reasons of the controller's events about a TrainJob, in the order in which they were written.
func Reasons(ctx context.Context, c client.Reader, job client.ObjectKey) ([]string, error) {
	all := &eventsv1.EventList{}
	if err := c.List(ctx, all, client.InNamespace(job.Namespace)); err != nil {
		return nil, err
	}
	var found []string
	for _, e := range all.Items {
		if e.Regarding.Kind == "TrainJob" && e.Regarding.Name == job.Name && e.ReportingController == "trainjob" {
			found = append(found, e.Reason)
		}
	}
	return found, nil
}

// CheckReasons returns an error unless the controller's events about a TrainJob have exactly the given reasons, in this order.
func CheckReasons(ctx context.Context, c client.Reader, job client.ObjectKey, want ...string) error {
	got, err := Reasons(ctx, c, job)
	if got, want := strings.Join(got, " "), strings.Join(want, " "); err == nil && got != want {
		err = fmt.Errorf("the reasons of events are %s, want %s", got, want)
	}
	return err
}

// CheckValue returns an error unless the metrics contain a series with the given name, labels and value. The series may have further
// labels. For a histogram, the value is the number of observations.
func CheckValue(name string, labels map[string]string, want float64) error {
	families, err := ctrlmetrics.Registry.Gather()
	if err != nil {
		return err
	}
	for _, family := range families {
		for _, m := range family.Metric {
			if family.GetName() != name || !hasLabels(m, labels) {
				continue
			}
			got := m.GetGauge().GetValue() + m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
			if got != want {
				return fmt.Errorf("%s of %v is %g, want %g", name, labels, got, want)
			}
			return nil
		}
	}
	return fmt.Errorf("%s has no series with %v", name, labels)
}

func hasLabels(m *dto.Metric, labels map[string]string) bool {
	found := 0
	for _, pair := range m.Label {
		if labels[pair.GetName()] == pair.GetValue() && pair.GetValue() != "" {
			found++
		}
	}
	return found == len(labels)
}
