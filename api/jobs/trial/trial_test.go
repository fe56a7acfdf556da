package trial_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/api/jobs"
	"github.com/trainyard/trainyard/api/jobs/trial"
	"github.com/trainyard/trainyard/test/controlplane"
)

func TestMain(m *testing.M) { os.Exit(controlplane.Main(m)) }

// runtimeName is the name of the runtime in examples/minimal.
const runtimeName = "mpi-openmpi-cpu"

// start starts a control plane. The control plane has no kubelet, so no pod starts.
func start(t *testing.T) (*controlplane.ControlPlane, jobs.Jobs, trial.Options) {
	t.Helper()
	cp := controlplane.Start(t)
	objects, err := controlplane.ReadObjects("../../../bundles/rendered/minimal/plain/manifests.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := cp.Apply(t.Context(), objects...); err != nil {
		t.Fatal(err)
	}
	all, err := jobs.Connect(cp.Config())
	if err != nil {
		t.Fatal(err)
	}
	namespace := cp.Namespace(t)
	runtime, err := all.Runtime(t.Context(), namespace, runtimeName)
	if err != nil {
		t.Fatal(err)
	}
	return cp, all, trial.Options{Runtime: runtime, Namespace: namespace, Nodes: 2, Timeout: 3 * time.Second}
}

func jobsIn(t *testing.T, cp *controlplane.ControlPlane, namespace string) []string {
	t.Helper()
	var found trainer.TrainJobList
	if err := cp.Client().List(t.Context(), &found, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, job := range found.Items {
		names = append(names, job.Name)
	}
	return names
}

// run calls trial.Run. If Trainer's webhook does not know the new runtime yet, the function "run" calls trial.Run
// again, for up to 10 s.
func run(ctx context.Context, t *testing.T, all jobs.Jobs, o trial.Options, report func(trial.Check)) (trial.Result, error) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; {
		result, err := trial.Run(ctx, all, o, report)
		if err == nil || !strings.Contains(err.Error(), "must be created before the TrainJob") || time.Now().After(deadline) {
			return result, err
		}
	}
}

func TestTimeout(t *testing.T) {
	cp, all, options := start(t)
	var reported []trial.Check
	result, err := run(t.Context(), t, all, options, func(c trial.Check) { reported = append(reported, c) })
	if err != nil {
		t.Fatal(err)
	}
	if result.Passed || !result.TimedOut || len(reported) == 0 {
		t.Errorf("passed %v, timed out %v, reported %v", result.Passed, result.TimedOut, reported)
	}
	first, rest := result.Checks[0], result.Checks[1:]
	if first.Status != trial.Failed || !strings.Contains(first.Detail, "not within 3s: 0 of 3 pods placed") {
		t.Errorf("the first check is %+v, want that no pod was placed", first)
	}
	for _, c := range rest {
		if c.Status != trial.NotReached {
			t.Errorf("check %s is %s, want that it was not reached", c.Name, c.Status)
		}
	}
	if left := jobsIn(t, cp, options.Namespace); len(left) > 0 {
		t.Errorf("TrainJobs are left: %v", left)
	}
}

func TestInterruption(t *testing.T) {
	cp, all, options := start(t)
	options.Timeout = time.Minute
	ctx, interrupt := context.WithCancel(t.Context())
	_, err := run(ctx, t, all, options, func(trial.Check) { interrupt() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Run() = %v, want that it was interrupted", err)
	}
	if left := jobsIn(t, cp, options.Namespace); len(left) > 0 {
		t.Errorf("TrainJobs are left: %v", left)
	}
}

func TestKeep(t *testing.T) {
	cp, all, options := start(t)
	options.Keep = true
	result, err := run(t.Context(), t, all, options, func(trial.Check) {})
	if left := jobsIn(t, cp, options.Namespace); err != nil || len(left) != 1 || left[0] != result.Job {
		t.Errorf("error %v, TrainJobs %v are left, want %s", err, left, result.Job)
	}
}
