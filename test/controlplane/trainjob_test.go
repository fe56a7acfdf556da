package controlplane_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainyard/trainyard/test/build"
	"github.com/trainyard/trainyard/test/controlplane"
)

// rendered are the runtimes we ship, as files; each is put to the same test as the fixture.
const rendered = "../../bundles/rendered/*/plain/manifests.yaml"

// TestTrainJobBecomesLauncherAndNodes lets the real controllers turn TrainJobs of different
// sizes into objects, and checks all of them that an MPI job depends on.
func TestTrainJobBecomesLauncherAndNodes(t *testing.T) {
	cp := controlplane.Start(t)
	for _, runtime := range mpiRuntimes(t, fixture, rendered) {
		for _, nodes := range []int32{1, 2, 4, 8} {
			t.Run(fmt.Sprintf("%s with %d nodes", runtime.GetName(), nodes), func(t *testing.T) {
				runtime := known(t, cp, runtime)
				job := build.MakeTrainJob("allreduce", cp.Namespace(t)).
					Runtime(runtime.Name).Nodes(nodes).ProcPerNode(2).
					Command("mpirun", "python3", "allreduce.py").
					Env("EPOCHS", "3").Resource(corev1.ResourceCPU, "3").
					Obj()
				if err := cp.Apply(t.Context(), job); err != nil {
					t.Fatal(err)
				}
				expectMPIJob(t, runtime, job, waitForOutcome(t, cp, client.ObjectKeyFromObject(job)))
			})
		}
	}
}

// mpiRuntimes reads the MPI runtimes of the files that match patterns.
func mpiRuntimes(t *testing.T, patterns ...string) []client.Object {
	t.Helper()
	var runtimes []client.Object
	for _, pattern := range patterns {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		if len(paths) == 0 {
			t.Fatalf("no file matches %s", pattern)
		}
		objs, err := controlplane.ReadObjects(paths...)
		if err != nil {
			t.Fatal(err)
		}
		for _, obj := range objs {
			if isMPIRuntime(obj) {
				runtimes = append(runtimes, obj)
			}
		}
	}
	return runtimes
}

// outcome is what Trainer and JobSet made of one TrainJob.
type outcome struct {
	trainJob       trainer.TrainJob
	jobSet         jobset.JobSet
	launcher, node batchv1.Job
	hostfile       corev1.ConfigMap
	sshAuth        corev1.Secret
}

// waitForOutcome waits until everything that a TrainJob should become is there.
func waitForOutcome(t *testing.T, cp *controlplane.ControlPlane, job client.ObjectKey) *outcome {
	t.Helper()
	made := &outcome{}
	parts := []struct {
		suffix string
		obj    client.Object
	}{
		{"", &made.trainJob},
		{"", &made.jobSet},
		{"-launcher-0", &made.launcher},
		{"-node-0", &made.node},
		{"-mpi-hostfile", &made.hostfile},
		{"-mpi-ssh-auth", &made.sshAuth},
	}
	controlplane.Eventually(t, func(ctx context.Context) error {
		for _, part := range parts {
			key := client.ObjectKey{Namespace: job.Namespace, Name: job.Name + part.suffix}
			if err := cp.Client().Get(ctx, key, part.obj); err != nil {
				return fmt.Errorf("waiting for the %T: %w", part.obj, err)
			}
		}
		return nil
	})
	return made
}
