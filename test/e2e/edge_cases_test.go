//go:build linux

package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/api/jobs"
	"github.com/trainyard/trainyard/api/metrics"
	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/test/build"
	"github.com/trainyard/trainyard/test/jobreport"
	"github.com/trainyard/trainyard/test/poll"
)

// report contains the diagnosis that a test expects for a TrainJob. Both trainyard's controller and
// the command `trainyard why` must report this diagnosis.
type report struct {
	phase   jobs.Phase
	code    string // the code of the first cause, or several codes separated by |
	message string // a part of the message in the annotations
	reasons []string
}

// The variable "scheduled" contains the reasons of the first two events that trainyard's controller writes about a
// TrainJob. The controller writes the second event when the pods of the TrainJob exist.
var scheduled = []string{"JobSubmitted", "GangSchedulingStarted"}

// expectDiagnosis waits until the annotations, the events, the metrics and `trainyard why` agree with a report.
func (s *sandbox) expectDiagnosis(t *testing.T, namespace, job string, want report) {
	t.Helper()
	key := client.ObjectKey{Namespace: namespace, Name: job}
	poll.Until(t, 2*time.Minute, func(ctx context.Context) error {
		if err := jobreport.CheckAnnotations(ctx, s.client, key, want.phase, want.message); err != nil {
			return err
		}
		if err := jobreport.CheckReasons(ctx, s.client, key, want.reasons...); err != nil {
			return err
		}
		labels := map[string]string{metrics.LabelNamespace: namespace, metrics.LabelTrainJob: job, metrics.LabelPhase: string(want.phase)}
		if err := jobreport.CheckValue(metrics.TrainJobPhase, labels, 1); err != nil {
			return err
		}
		found, err := s.why(ctx, namespace, job)
		if err != nil {
			return err
		}
		if len(found.Causes) == 0 || !slices.Contains(strings.Split(want.code, "|"), found.Causes[0].Code) {
			return fmt.Errorf("trainyard why: %+v, want cause %s", found, want.code)
		}
		if want.phase == jobs.Failed {
			labels := map[string]string{metrics.LabelNamespace: namespace, metrics.LabelCode: found.Causes[0].Code}
			return jobreport.CheckValue(metrics.TrainJobDiagnoses, labels, 1)
		}
		return nil
	})
}

// create submits an object to the API server, and tries again after an error, because Trainer's webhook may not know
// a new runtime yet.
func (s *sandbox) create(t *testing.T, object client.Object) {
	t.Helper()
	poll.Until(t, 10*time.Second, func(ctx context.Context) error {
		return client.IgnoreAlreadyExists(s.client.Create(ctx, object.DeepCopyObject().(client.Object)))
	})
}

func (s *sandbox) withQuota(t *testing.T, hard corev1.ResourceList) (namespace string) {
	t.Helper()
	namespace = s.makeNamespace(t)
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "small"}, Spec: corev1.ResourceQuotaSpec{Hard: hard}}
	s.create(t, quota)
	// Until kube-controller-manager has counted the existing objects, the API server refuses all
	// new objects that the quota limits.
	poll.Until(t, podTimeout, func(ctx context.Context) error {
		err := s.client.Get(ctx, client.ObjectKeyFromObject(quota), quota)
		if err == nil && len(quota.Status.Used) < len(hard) {
			err = errors.New("the quota is not counted yet")
		}
		return err
	})
	return namespace
}

// TestEdgeCaseGangSchedulingTimeout runs a TrainJob with a launcher and three other pods. Each of these three pods
// needs the same port of its cluster node, so a cluster node has room for only one of them. Only two cluster nodes
// accept the pods, so the third pod is never scheduled. After the timeout in the runtime, the TrainJob must be
// suspended and keep its settings.
func TestEdgeCaseGangSchedulingTimeout(t *testing.T) {
	t.Parallel()
	s := useController(t)
	runtime := s.changedRuntime(t, "openmpi", func(spec *trainer.TrainingRuntimeSpec) {
		node := findContainer(spec, jobs.Node, jobs.MainContainer)
		node.Ports = append(node.Ports, corev1.ContainerPort{Name: "own-node", HostPort: 31999, ContainerPort: 31999})
	})
	change := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.GangAnnotation, `{"timeoutSeconds":45}`)
	if out, err := s.runKubectl("", "patch", "clustertrainingruntime", runtime, "--type=merge", "-p", change); err != nil {
		t.Fatalf("setting the timeout: %v: %s", err, out)
	}
	namespace := s.openNamespace(t)
	job := build.MakeTrainJob("gang", namespace).Runtime(runtime).Nodes(4).Command("mpirun", "sleep", "600").Obj()
	s.create(t, job)
	s.expectReport(t, namespace, "gang", jobs.GangScheduling, "3 of 4 pods are scheduled")
	s.expectDiagnosis(t, namespace, "gang", report{
		jobs.Suspended, "GangTimeout", "Suspended, because its pods were not scheduled within 45s. Previous message: Waiting for cluster nodes: 3 of 4 pods are scheduled",
		append(slices.Clone(scheduled), "GangSchedulingTimeout"),
	})
	kept := &trainer.TrainJob{}
	if err := s.client.Get(t.Context(), client.ObjectKeyFromObject(job), kept); err != nil || ptr.Deref(kept.Spec.Trainer.NumNodes, 0) != 4 {
		t.Errorf("the suspended TrainJob has %+v (%v), want four nodes", kept.Spec.Trainer, err)
	}
}

// TestEdgeCasePartialWorkerFailure lets one of three nodes exceed its memory limit while the other nodes train. The
// test accepts the cause ProcessKilled and the cause OutOfMemory, because the version of cgroups decides what the
// kernel kills. With version 1, the kernel kills only the rank. With version 2, the kernel kills the whole container.
func TestEdgeCasePartialWorkerFailure(t *testing.T) {
	t.Parallel()
	s := useController(t)
	namespace := s.makeNamespace(t)
	const program = `
import socket, time
from mpi4py import MPI
MPI.COMM_WORLD.barrier()
held = []
while "node-0-1" in socket.gethostname():
    held.append(bytearray(b"x" * (1 << 20)))
time.sleep(600)
`
	s.create(t, build.MakeTrainJob("oom", namespace).Runtime("openmpi").Nodes(3).Command("mpirun", "python3", "-m", "mpi4py", "-c", program).Obj())
	s.expectDiagnosis(t, namespace, "oom", report{
		jobs.Failed, "ProcessKilled|OutOfMemory", "oom-node-0-1", append(slices.Clone(scheduled), "PodsReady", "TrainingStarted", "TrainingFailed"),
	})
}

// TestEdgeCaseNetworkPolicyConflicts checks that trainyard reports a network policy that blocks SSH. The test does
// not run in parallel with other tests, because enforcePolicies would also enforce network policies on the pods of
// the other tests.
func TestEdgeCaseNetworkPolicyConflicts(t *testing.T) {
	s := useController(t)
	namespace := s.makeNamespace(t)
	s.create(t, &networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "deny-ssh"},
		Spec:       networkingv1.NetworkPolicySpec{PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}},
	})
	s.enforcePolicies(t)
	s.create(t, build.MakeTrainJob("blocked", namespace).Runtime(shortTimeout).Nodes(2).Obj())
	s.expectDiagnosis(t, namespace, "blocked", report{
		jobs.Failed, "SSHBlocked", "Check the network policies", append(slices.Clone(scheduled), "TrainingFailed"),
	})
}

func TestEdgeCaseImagePullFailures(t *testing.T) {
	t.Parallel()
	s := useController(t)
	namespace := s.makeNamespace(t)
	runtime := s.changedRuntime(t, "openmpi", func(spec *trainer.TrainingRuntimeSpec) {
		setImage(spec, "127.0.0.1:9/nowhere:1", corev1.PullIfNotPresent)
	})
	s.create(t, build.MakeTrainJob("pull", namespace).Runtime(runtime).Nodes(2).Obj())
	s.expectDiagnosis(t, namespace, "pull", report{jobs.Initializing, "RegistryUnreachable", "127.0.0.1:9/nowhere", scheduled})
}

// TestEdgeCaseServiceMeshConflicts checks that trainyard reports a container that still runs after the training has
// completed. The container takes the place of a service mesh's proxy, because the cluster has no Istio. The test also
// checks that generated runtimes switch Istio's proxy off.
func TestEdgeCaseServiceMeshConflicts(t *testing.T) {
	t.Parallel()
	s := useController(t)
	namespace := s.makeNamespace(t)
	runtime := s.changedRuntime(t, "openmpi", func(spec *trainer.TrainingRuntimeSpec) {
		launcher := podSpec(spec, jobs.Launcher)
		proxy := findContainer(spec, jobs.Launcher, jobs.MainContainer).DeepCopy()
		proxy.Name, proxy.Command, proxy.Args, proxy.Ports = "istio-proxy", []string{"sleep", "600"}, nil, nil
		launcher.Containers = append(launcher.Containers, *proxy)
	})
	s.create(t, build.MakeTrainJob("mesh", namespace).Runtime(runtime).Nodes(2).Command("mpirun", "true").Obj())
	s.expectDiagnosis(t, namespace, "mesh", report{
		jobs.Running, "SidecarRunning", "SidecarRunning (pod mesh-launcher", append(slices.Clone(scheduled), "PodsReady", "TrainingStarted"),
	})
	original := &trainer.ClusterTrainingRuntime{}
	if err := s.client.Get(t.Context(), client.ObjectKey{Name: "openmpi"}, original); err != nil {
		t.Fatal(err)
	}
	for _, replicated := range original.Spec.Template.Spec.ReplicatedJobs {
		if got := replicated.Template.Spec.Template.Labels["sidecar.istio.io/inject"]; got != "false" {
			t.Errorf("the pods of %s have the label sidecar.istio.io/inject: %q, want false", replicated.Name, got)
		}
	}
}

// TestEdgeCaseResourceQuotaBoundary runs a TrainJob with as many pods as the quota allows. The test also runs a
// TrainJob that has one pod more than its quota allows. trainyard must report that this TrainJob exceeds the
// quota.
func TestEdgeCaseResourceQuotaBoundary(t *testing.T) {
	t.Parallel()
	s := useController(t)
	exact := s.withQuota(t, corev1.ResourceList{corev1.ResourcePods: resource.MustParse("3")})
	if got := s.run(t, build.MakeTrainJob("exact", exact).Runtime("openmpi").Nodes(3).Command("mpirun", "true")); got.condition != trainer.TrainJobComplete {
		t.Errorf("the TrainJob that fits exactly has condition %q", got.condition)
	}
	small := s.withQuota(t, corev1.ResourceList{corev1.ResourcePods: resource.MustParse("2")})
	s.create(t, build.MakeTrainJob("small", small).Runtime("openmpi").Nodes(3).Command("mpirun", "true").Obj())
	poll.Until(t, 2*time.Minute, func(ctx context.Context) error {
		found, err := s.why(ctx, small, "small")
		if err == nil && (len(found.Causes) == 0 || found.Causes[0].Code != "QuotaExceeded") {
			err = fmt.Errorf("trainyard why: %+v, want cause QuotaExceeded", found)
		}
		return err
	})
	s.expectReport(t, small, "small", jobs.GangScheduling, "exceeded quota")
}

func TestEdgeCaseLauncherPodTermination(t *testing.T) {
	t.Parallel()
	s := useController(t)
	namespace := s.makeNamespace(t)
	launcher := s.startIdle(t, build.MakeTrainJob("train", namespace).Runtime("openmpi"))[jobs.Launcher]
	if err := s.client.Delete(t.Context(), &corev1.Pod{ObjectMeta: launcher.ObjectMeta}, client.GracePeriodSeconds(1)); err != nil {
		t.Fatal(err)
	}
	s.expectDiagnosis(t, namespace, "train", report{
		jobs.Failed, "LauncherDeleted", "LauncherDeleted (", append(slices.Clone(scheduled), "PodsReady", "TrainingStarted", "TrainingFailed"),
	})
	poll.Until(t, podTimeout, func(ctx context.Context) error {
		pods := &corev1.PodList{}
		err := s.client.List(ctx, pods, client.InNamespace(namespace), client.MatchingFields{"status.phase": "Running"})
		if err == nil && len(pods.Items) > 0 {
			err = fmt.Errorf("%d nodes still run", len(pods.Items))
		}
		return err
	})
}

// TestEdgeCaseSSHKeyGenerationFailure sets a quota that forbids Secrets, so that Trainer cannot store the SSH keys.
// trainyard must report this cause.
func TestEdgeCaseSSHKeyGenerationFailure(t *testing.T) {
	t.Parallel()
	s := useController(t)
	namespace := s.withQuota(t, corev1.ResourceList{corev1.ResourceSecrets: resource.MustParse("0")})
	s.create(t, build.MakeTrainJob("keys", namespace).Runtime("openmpi").Nodes(2).Obj())
	// Trainer applies the JobSet and the Secret in no fixed order. If Trainer applies the JobSet first, the pods of the
	// JobSet wait for the missing Secret. The waiting pods change the phase of the TrainJob, so the test checks only
	// the message.
	poll.Until(t, 2*time.Minute, func(ctx context.Context) error {
		found := &trainer.TrainJob{}
		if err := s.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "keys"}, found); err != nil {
			return err
		}
		if message := found.Annotations[v1alpha1.MessageAnnotation]; !strings.Contains(message, "SSHKeysNotCreated (") || !strings.Contains(message, "secrets=1") {
			return fmt.Errorf("the message is %q, want SSHKeysNotCreated", message)
		}
		return nil
	})
}

// TestEdgeCaseSlotConfigurationMismatch requests more ranks for each pod than the pod has CPUs. The test uses CPUs,
// because the cluster has no GPUs. The preflight check counts CPUs and GPUs in the same way.
func TestEdgeCaseSlotConfigurationMismatch(t *testing.T) {
	t.Parallel()
	s := useController(t)
	namespace := s.makeNamespace(t)
	runtime := s.changedRuntime(t, shortTimeout, func(spec *trainer.TrainingRuntimeSpec) {
		setEnv(findContainer(spec, jobs.Launcher, "preflight"), "PREFLIGHT_OVERSUBSCRIBE", "false")
	})
	s.create(t, build.MakeTrainJob("slots", namespace).Runtime(runtime).Nodes(2).ProcPerNode(4).Obj())
	s.expectDiagnosis(t, namespace, "slots", report{
		jobs.Failed, "TooFewHostSlots", "Start fewer processes", append(slices.Clone(scheduled), "TrainingFailed"),
	})
	labels := map[string]string{metrics.LabelNamespace: namespace, metrics.LabelTrainJob: "slots"}
	if err := jobreport.CheckValue(metrics.TrainJobSlotsExpected, labels, 8); err != nil {
		t.Error(err)
	}
}

func TestChangedRuntimeAppliesToNextTrainJob(t *testing.T) {
	t.Parallel()
	s := useCluster(t)
	namespace := s.makeNamespace(t)
	set := func(value string) func(*trainer.TrainingRuntimeSpec) {
		return func(spec *trainer.TrainingRuntimeSpec) {
			setEnv(findContainer(spec, jobs.Launcher, jobs.MainContainer), "EDITION", value)
		}
	}
	runtime := s.changedRuntime(t, "openmpi", set("first"))
	show := []string{"sh", "-c", "sleep 10; echo rank $EDITION"}
	job := build.MakeTrainJob("running", namespace).Runtime(runtime).Nodes(2).Command(show...)
	s.whenNodesRun(t, namespace, "running", func([]jobs.Pod) error {
		live := &trainer.ClusterTrainingRuntime{}
		if err := s.client.Get(t.Context(), client.ObjectKey{Name: runtime}, live); err != nil {
			return err
		}
		set("second")(&live.Spec)
		return s.client.Update(t.Context(), live)
	})
	for _, want := range []string{"rank first", "rank second"} {
		got := s.run(t, job)
		if got.condition != trainer.TrainJobComplete || len(got.ranks) != 1 || got.ranks[0] != want {
			t.Errorf("the job has condition %q and prints %q, want %q", got.condition, got.ranks, want)
		}
		job = build.MakeTrainJob("next", namespace).Runtime(runtime).Nodes(2).Command(show...)
	}
}
