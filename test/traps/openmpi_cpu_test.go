// Package traps has a test for each trap of Kubeflow Trainer's MPI plugin. A trap is a setting that Trainer accepts
// although it makes jobs fail. Generated runtimes must avoid all traps. The name of each test for a trap is a statement
// about generated runtimes. An example of a name is TestFailureIsNotRetriedInPlace. If the statement is true, generated
// runtimes avoid the trap.
package traps

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/generator"
)

// generateRuntime generates a runtime from the base openmpi-cpu, an entry of trainyard's catalogue. The argument
// "target" contains fields of spec.target, and "settings" contains fields of the runtime, in the form "KEY:
// VALUE, KEY: VALUE".
func generateRuntime(t *testing.T, target, settings string) trainer.ClusterTrainingRuntime {
	t.Helper()
	return generateFrom(t, "openmpi-cpu", target, settings)
}

func generateFrom(t *testing.T, base, target, settings string) trainer.ClusterTrainingRuntime {
	t.Helper()
	var ctr trainer.ClusterTrainingRuntime
	if err := json.Unmarshal(generateText(t, base, target, settings), &ctr); err != nil {
		t.Fatal(err)
	}
	return ctr
}

func generateText(t *testing.T, base, target, settings string) []byte {
	t.Helper()
	text := fmt.Sprintf(`
apiVersion: trainyard.dev/v1alpha1
kind: Platform
metadata: {name: acme}
spec:
  target: {%s}
  runtimes:
    mpi: {from: %s, image: quay.io/acme/openmpi:4.1, %s}
`, target, base, settings)
	platforms, err := generator.New(trainyard.CUE).Generate(t.Context(), generator.Request{
		Layers: []generator.Input{{Name: "platform.yaml", Text: []byte(text)}},
	})
	if err != nil {
		t.Fatalf("generating: %v", err)
	}
	for o := range platforms[0].Objects.All() {
		raw, err := o.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	t.Fatal("no objects")
	return nil
}

func replicatedJob(t *testing.T, ctr trainer.ClusterTrainingRuntime, name string) jobset.ReplicatedJob {
	t.Helper()
	for _, j := range ctr.Spec.Template.Spec.ReplicatedJobs {
		if j.Name == name {
			return j
		}
	}
	t.Fatalf("no ReplicatedJob %q", name)
	return jobset.ReplicatedJob{}
}

func pod(j jobset.ReplicatedJob) corev1.PodTemplateSpec { return j.Template.Spec.Template }

func main(j jobset.ReplicatedJob) corev1.Container { return pod(j).Spec.Containers[0] }

func roleJobs(t *testing.T, ctr trainer.ClusterTrainingRuntime) map[string]jobset.ReplicatedJob {
	t.Helper()
	return map[string]jobset.ReplicatedJob{"launcher": replicatedJob(t, ctr, "launcher"), "node": replicatedJob(t, ctr, "node")}
}

// TestNumNodesDoesNotMultiplyLaunchers: the field mlPolicy.numNodes must be 1. Trainer copies the value of this field
// to the parallelism of the launcher's Job, so a larger value would start several launchers.
func TestNumNodesDoesNotMultiplyLaunchers(t *testing.T) {
	cases := map[string]struct {
		settings string
		nodes    int32
	}{
		"two nodes by default, one of them the launcher": {"", 1},
		"the launcher is the first of eight nodes":       {"numNodes: 8", 7},
		"one node still starts a second host":            {"numNodes: 1", 1},
		"a separate launcher is not a node":              {"numNodes: 8, runLauncherAsNode: false", 8},
		"one node and a separate launcher":               {"numNodes: 1, runLauncherAsNode: false", 1},
		"a low limit lowers the default":                 {"limits: {maxNodes: 1}, runLauncherAsNode: false", 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			ctr := generateRuntime(t, "", tc.settings)
			if got := *ctr.Spec.MLPolicy.NumNodes; got != 1 {
				t.Errorf("mlPolicy.numNodes = %d, want 1", got)
			}
			launcher, node := replicatedJob(t, ctr, "launcher").Template.Spec, replicatedJob(t, ctr, "node").Template.Spec
			got := []int32{*launcher.Parallelism, *launcher.Completions, *node.Parallelism, *node.Completions}
			if diff := cmp.Diff([]int32{1, 1, tc.nodes, tc.nodes}, got); diff != "" {
				t.Errorf("parallelism and completions of launcher and node: -want +got:\n%s", diff)
			}
		})
	}
}

// TestMPIPolicyIsExplicit: the runtime must set all fields of mlPolicy.mpi, because Trainer's MPI plugin dereferences them
// without a nil check. The API server can fill in default values for missing fields, but then GitOps tools would report a
// difference from Git.
func TestMPIPolicyIsExplicit(t *testing.T) {
	got := generateRuntime(t, "", "numProcPerNode: 4, resources: {cpu: 4}").Spec.MLPolicy.MPI
	implementation, procs, asNode, path := trainer.MPIImplementationOpenMPI, int32(4), true, "/home/mpiuser/.ssh"
	want := &trainer.MPIMLPolicySource{
		MPIImplementation: &implementation,
		NumProcPerNode:    &procs,
		RunLauncherAsNode: &asNode,
		SSHAuthMountPath:  &path, // root's ssh would refuse keys in /root/.ssh, because Trainer sets wrong file modes
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mlPolicy.mpi: -want +got:\n%s", diff)
	}
}

// TestLauncherIsFoundByTrainer: Trainer's MPI plugin looks for the jobs "launcher" and "node", and for a container
// "node" in each of these jobs. Trainer gives the command of a TrainJob to the job whose label trainjob-ancestor-step
// has the value "trainer". The job "launcher" must have this label, and the job "node" must not have it.
func TestLauncherIsFoundByTrainer(t *testing.T) {
	ctr := generateRuntime(t, "", "")
	for name, j := range roleJobs(t, ctr) {
		if j.Replicas != 1 || j.GroupName != "default" {
			t.Errorf("%s: replicas %d, groupName %q, want 1 and default", name, j.Replicas, j.GroupName)
		}
		if containers := pod(j).Spec.Containers; len(containers) != 1 || containers[0].Name != "node" {
			t.Errorf("%s: containers %v, want one named node", name, containers)
		}
		_, labelled := j.Template.Labels[v1alpha1.AncestorStepLabel]
		if want := name == "launcher"; labelled != want {
			t.Errorf("%s: has the trainer label: %v, want %v", name, labelled, want)
		}
	}
	if first := ctr.Spec.Template.Spec.ReplicatedJobs[0].Name; first != "launcher" {
		t.Errorf("the first job is %s, want launcher, because rank 0 runs on the first host of the hostfile", first)
	}
	if launcher := main(replicatedJob(t, ctr, "launcher")); launcher.Args != nil {
		t.Errorf("launcher has args %q, want none, because a TrainJob that sets only a command would inherit these args", launcher.Args)
	}
}

// TestLauncherEndsTheJob: the success policy must name only the launcher. Otherwise, the JobSet would also wait for the
// nodes, and would never complete, because sshd on the nodes never exits.
func TestLauncherEndsTheJob(t *testing.T) {
	got := generateRuntime(t, "", "").Spec.Template.Spec.SuccessPolicy
	want := &jobset.SuccessPolicy{Operator: jobset.OperatorAll, TargetReplicatedJobs: []string{"launcher"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("successPolicy: -want +got:\n%s", diff)
	}
}

// TestHostsAreFoundByName: DNS must publish pods that are not ready, because the launcher resolves its own name before
// it is ready. The runtime must not set a subdomain, because a subdomain would make all TrainJobs claim the same
// Service.
func TestHostsAreFoundByName(t *testing.T) {
	yes := true
	got := generateRuntime(t, "", "").Spec.Template.Spec.Network
	want := &jobset.Network{EnableDNSHostnames: &yes, PublishNotReadyAddresses: &yes}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("network: -want +got:\n%s", diff)
	}
}

// TestFailureIsNotRetriedInPlace: backoffLimit must be 0, and restartPolicy must be Never. With the default
// backoffLimit, Kubernetes would restart a failed mpirun up to six times.
func TestFailureIsNotRetriedInPlace(t *testing.T) {
	for name, j := range roleJobs(t, generateRuntime(t, "", "")) {
		if limit := j.Template.Spec.BackoffLimit; limit == nil || *limit != 0 {
			t.Errorf("%s: backoffLimit %v, want 0", name, limit)
		}
		if policy := pod(j).Spec.RestartPolicy; policy != corev1.RestartPolicyNever {
			t.Errorf("%s: restartPolicy %q, want Never", name, policy)
		}
	}
}

// TestLimitsIncludeCPU: the method list_runtimes of the Kubeflow SDK fails if the limits of a container lack
// the CPU.
func TestLimitsIncludeCPU(t *testing.T) {
	for name, j := range roleJobs(t, generateRuntime(t, "", "resources: {memory: 4Gi}")) {
		for _, c := range append(pod(j).Spec.InitContainers, main(j)) {
			if diff := cmp.Diff(c.Resources.Limits, c.Resources.Requests); diff != "" {
				t.Errorf("%s/%s: requests differ from limits: -limits +requests:\n%s", name, c.Name, diff)
			}
			if cpu, memory := c.Resources.Limits.Cpu().String(), c.Resources.Limits.Memory().String(); cpu != "1" || memory != "4Gi" {
				t.Errorf("%s/%s: limits cpu %s, memory %s, want 1 and 4Gi", name, c.Name, cpu, memory)
			}
		}
	}
}
