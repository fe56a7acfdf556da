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

	"github.com/trainyard/trainyard/policies/cases"
	"github.com/trainyard/trainyard/test/controlplane"
	"github.com/trainyard/trainyard/test/matrix"
)

// TestTrainJobBecomesLauncherAndNodes runs TrainJobs of different sizes through the real controllers, and checks all
// objects on which an MPI job depends. GitOps tools must see no drift in a runtime that is in use.
func TestTrainJobBecomesLauncherAndNodes(t *testing.T) {
	onVersionsWithControllers(t, func(t *testing.T, v version, cp *controlplane.ControlPlane) {
		for name, file := range findRenderings(t, "manifests.yaml") {
			t.Run(name, func(t *testing.T) { expectMPIJobs(t, v, cp, readObjects(t, file)...) })
		}
		t.Run("fixture", func(t *testing.T) { expectMPIJobs(t, v, cp, fixtureRuntime(t)) })
	})
}

// expectMPIJobs runs TrainJobs with each MPI runtime in a new namespace, and checks the objects that Trainer and
// JobSet create.
func expectMPIJobs(t *testing.T, v version, cp *controlplane.ControlPlane, objs ...client.Object) {
	t.Helper()
	for _, obj := range matrix.Runtimes(objs) {
		t.Run(obj.GetName(), func(t *testing.T) {
			namespace := jobNamespace(t, cp, obj)
			runtime := installRuntime(t, cp, obj)
			for _, nodes := range []int32{1, 2, 4, 8} {
				job := newJob(obj, fmt.Sprintf("allreduce-%d", nodes), namespace).
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
			expectNoDrift(t, cp, obj)
		})
	}
}

type outcome struct {
	trainJob       trainer.TrainJob
	jobSet         jobset.JobSet
	launcher, node batchv1.Job
	hostfile       corev1.ConfigMap
	sshAuth        corev1.Secret
}

func waitForOutcome(t *testing.T, cp *controlplane.ControlPlane, job client.ObjectKey) *outcome {
	t.Helper()
	created := &outcome{}
	controlplane.Eventually(t, func(ctx context.Context) error { return cp.Client().Get(ctx, job, &created.jobSet) })
	for _, role := range roleDependencies(&created.jobSet) {
		completeJob(t, cp, client.ObjectKey{Namespace: job.Namespace, Name: job.Name + "-" + role + "-0"})
	}
	wanted := []struct {
		suffix string
		obj    client.Object
	}{
		{"", &created.trainJob},
		{"", &created.jobSet},
		{"-launcher-0", &created.launcher},
		{"-node-0", &created.node},
		{"-mpi-hostfile", &created.hostfile},
		{"-mpi-ssh-auth", &created.sshAuth},
	}
	controlplane.Eventually(t, func(ctx context.Context) error {
		for _, w := range wanted {
			key := client.ObjectKey{Namespace: job.Namespace, Name: job.Name + w.suffix}
			if err := cp.Client().Get(ctx, key, w.obj); err != nil {
				return fmt.Errorf("waiting for the %T: %w", w.obj, err)
			}
		}
		return nil
	})
	return created
}

// roleDependencies returns the names of the initializers of a JobSet. An initializer is a ReplicatedJob that must
// complete before another ReplicatedJob of the JobSet starts.
func roleDependencies(js *jobset.JobSet) []string {
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

// completeJob sets the status of a Job as the Job controller does after the pod of the Job has succeeded. In
// these tests, the control plane has no Job controller and no pods.
func completeJob(t *testing.T, cp *controlplane.ControlPlane, key client.ObjectKey) {
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

// TestHundredNodes runs a TrainJob with 100 nodes, the default of ceilings.maxNodes. The name of the TrainJob
// is as long as possible: with a longer name, the names of its pods would be too long. The hostfile must have
// at most 64 KiB, and all host names must be valid.
func TestHundredNodes(t *testing.T) {
	onVersionsWithControllers(t, func(t *testing.T, _ version, cp *controlplane.ControlPlane) {
		runtime := fixtureRuntime(t)
		installRuntime(t, cp, runtime)
		name := strings.Repeat("j", 63-len("-launcher-0-0-abcde"))
		job := newJob(runtime, name, cp.Namespace(t)).Nodes(100).ProcPerNode(8).Obj()
		apply(t, cp, job)
		created := waitForOutcome(t, cp, client.ObjectKeyFromObject(job))
		hosts := strings.Split(strings.TrimSpace(created.hostfile.Data["hostfile"]), "\n")
		if len(hosts) != 100 || *created.node.Spec.Parallelism != 99 || *created.node.Spec.Completions != 99 {
			t.Errorf("got %d hosts, parallelism %d, completions %d; want 100, 99, 99", len(hosts), *created.node.Spec.Parallelism, *created.node.Spec.Completions)
		}
		if size := len(created.hostfile.Data["hostfile"]); size > 64<<10 {
			t.Errorf("the hostfile has %d bytes, want 64 KiB at most", size)
		}
		for _, line := range hosts {
			host, slots, _ := strings.Cut(line, " ")
			label, _, _ := strings.Cut(host, ".")
			if problems := validation.IsDNS1123Subdomain(host); len(problems) > 0 || len(label) > 63 || slots != "slots=8" {
				t.Errorf("invalid host %q: %v, label of %d characters", line, problems, len(label))
			}
		}
	})
}

// TestTrainJobsConfigureInitializers submits a TrainJob that sets the addresses of a dataset and a model. The API
// server must admit the TrainJob. Since version 2.3, Trainer's webhook admits such a TrainJob only if the runtime's
// initializers mount a volume named "initializer".
func TestTrainJobsConfigureInitializers(t *testing.T) {
	onVersionsWithControllers(t, func(t *testing.T, v version, cp *controlplane.ControlPlane) {
		applyPolicies(t, cp, v)
		job := trainJob("downloads", "team-vision", "mpi-openmpi-gpu-data")
		mergeFields(job, decodeYAML(t, `{spec: {runtimeRef: {kind: TrainingRuntime}, initializer: {dataset: {storageUri: "s3://acme/set"}, model: {storageUri: "hf://acme/model"}}}}`))
		if message, err := submitAs(t, cp, cases.Case{Tenant: "team-vision", TrainJob: job, User: "eve"}, "vision", "system:authenticated"); err != nil {
			t.Errorf("a TrainJob with initializers: %v %s", err, message)
		}
	})
}
