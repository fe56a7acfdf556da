package controlplane_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainyard/trainyard/test/controlplane"
)

// TestTrainJobBecomesLauncherAndNodes lets the real controllers turn TrainJobs of different
// sizes into objects, and checks all of them that an MPI job depends on. What the controllers do
// to a runtime in use must give GitOps tools nothing to do.
func TestTrainJobBecomesLauncherAndNodes(t *testing.T) {
	whereJobsRun(t, func(t *testing.T, v version, cp *controlplane.ControlPlane) {
		for name, file := range renderings(t, "manifests.yaml") {
			t.Run(name, func(t *testing.T) { expectMPIJobs(t, v, cp, readObjects(t, file)...) })
		}
		t.Run("fixture", func(t *testing.T) { expectMPIJobs(t, v, cp, fixtureRuntime(t)) })
	})
}

// expectMPIJobs puts all MPI runtimes among some objects to the same test, each in a namespace
// of its own.
func expectMPIJobs(t *testing.T, v version, cp *controlplane.ControlPlane, objs ...client.Object) {
	t.Helper()
	for _, obj := range mpiRuntimes(objs) {
		t.Run(obj.GetName(), func(t *testing.T) {
			namespace := moved(t, cp, obj)
			runtime := known(t, cp, obj)
			for _, nodes := range []int32{1, 2, 4, 8} {
				job := jobOf(obj, fmt.Sprintf("allreduce-%d", nodes), namespace).
					Nodes(nodes).ProcPerNode(2).Image("quay.io/acme/trained:1").
					Command("mpirun", "python3", "allreduce.py").
					Env("EPOCHS", "3").Resource(corev1.ResourceCPU, "3").
					Obj()
				apply(t, cp, job)
				t.Run(fmt.Sprintf("with %d nodes", nodes), func(t *testing.T) {
					expectMPIJob(t, v, runtime, job, waitForOutcome(t, cp, client.ObjectKeyFromObject(job)))
				})
			}
			expectInUse(t, v, cp, obj)
			expectSettled(t, cp, obj)
		})
	}
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
	controlplane.Eventually(t, func(ctx context.Context) error { return cp.Client().Get(ctx, job, &made.jobSet) })
	for _, role := range awaited(&made.jobSet) {
		finish(t, cp, client.ObjectKey{Namespace: job.Namespace, Name: job.Name + "-" + role + "-0"})
	}
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

// awaited are the roles in a JobSet that others start after: initializers.
func awaited(js *jobset.JobSet) []string {
	var roles []string
	for _, r := range js.Spec.ReplicatedJobs {
		for _, d := range r.DependsOn {
			if d.Status == jobset.DependencyComplete && !slices.Contains(roles, d.Name) {
				roles = append(roles, d.Name)
			}
		}
	}
	return roles
}

// finish says of a Job what the Job controller says once its pod is done: neither is here.
func finish(t *testing.T, cp *controlplane.ControlPlane, key client.ObjectKey) {
	t.Helper()
	now := metav1.Now()
	controlplane.Eventually(t, func(ctx context.Context) error {
		var job batchv1.Job
		if err := cp.Client().Get(ctx, key, &job); err != nil {
			return err
		}
		job.Status.StartTime, job.Status.CompletionTime, job.Status.Succeeded = &now, &now, 1
		job.Status.Conditions = []batchv1.JobCondition{
			{Type: batchv1.JobSuccessCriteriaMet, Status: corev1.ConditionTrue},
			{Type: batchv1.JobComplete, Status: corev1.ConditionTrue},
		}
		return cp.Client().Status().Update(ctx, &job)
	})
}

// TestHundredNodes: the largest job there is by default, under the longest name that its pods
// allow, stays within what names, ConfigMaps and the hostfile's readers can take.
func TestHundredNodes(t *testing.T) {
	whereJobsRun(t, func(t *testing.T, _ version, cp *controlplane.ControlPlane) {
		runtime := fixtureRuntime(t)
		known(t, cp, runtime)
		name := strings.Repeat("j", 63-len("-launcher-0-0-abcde"))
		job := jobOf(runtime, name, cp.Namespace(t)).Nodes(100).ProcPerNode(8).Obj()
		apply(t, cp, job)
		made := waitForOutcome(t, cp, client.ObjectKeyFromObject(job))
		hosts := strings.Split(strings.TrimSpace(made.hostfile.Data["hostfile"]), "\n")
		if len(hosts) != 100 || *made.node.Spec.Parallelism != 99 || *made.node.Spec.Completions != 99 {
			t.Errorf("%d hosts, %d nodes at once of %d; want 100, 99 of 99", len(hosts), *made.node.Spec.Parallelism, *made.node.Spec.Completions)
		}
		if size := len(made.hostfile.Data["hostfile"]); size > 64<<10 {
			t.Errorf("the hostfile has %d bytes, want 64 KiB at most", size)
		}
		for _, line := range hosts {
			host, slots, _ := strings.Cut(line, " ")
			label, _, _ := strings.Cut(host, ".")
			if problems := validation.IsDNS1123Subdomain(host); len(problems) > 0 || len(label) > 63 || slots != "slots=8" {
				t.Errorf("host %q: %v, label of %d letters", line, problems, len(label))
			}
		}
	})
}
