//go:build linux

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainyard/trainyard/api/jobs"
	"github.com/trainyard/trainyard/test/build"
	"github.com/trainyard/trainyard/test/cluster"
	"github.com/trainyard/trainyard/test/poll"
)

// restartingRuntimes contains, for each MPI implementation, a runtime that starts a job again after a
// disruption.
var restartingRuntimes = []string{"openmpi-restarts", "openmpi5-restarts", "mpich-restarts", "intel-restarts"}

// interruptedTraining is a TrainJob that runs resume.py, a training program with checkpoints. The TrainJob
// has four ranks in two pods.
type interruptedTraining struct {
	*sandbox
	namespace string
	job       *build.TrainJob
}

// newTraining returns a TrainJob that runs resume.py for about ten seconds.
func (s *sandbox) newTraining(t *testing.T, runtime string, args ...string) interruptedTraining {
	t.Helper()
	namespace := s.makeNamespace(t)
	s.claim(t, namespace)
	command := []string{"mpirun", "python3", "-m", "mpi4py", "/opt/resume.py", "--out", "/mnt/results/losses.json", "--steps", "50"}
	job := build.MakeTrainJob("train", namespace).Runtime(runtime).Nodes(2).ProcPerNode(ranksPerHost).Command(append(command, args...)...)
	return interruptedTraining{s, namespace, job}
}

func (i interruptedTraining) key() client.ObjectKey {
	return client.ObjectKey{Namespace: i.namespace, Name: "train"}
}

func (i interruptedTraining) outputPath(name string) string {
	return filepath.Join(i.dir, "volumes", i.namespace, name)
}

// whenTraining runs the function "act" in the background, three seconds after the ranks have started.
func (i interruptedTraining) whenTraining(t *testing.T, act func(jobs.Snapshot) error) {
	t.Helper()
	i.afterCreation(t, i.key(), func(snapshot jobs.Snapshot) error {
		for _, launcher := range snapshot.PodsOf(jobs.Launcher) {
			if log, err := i.jobs.Log(t.Context(), launcher, jobs.MainContainer, 10); err == nil && log != "" {
				time.Sleep(3 * time.Second) // enough for some steps of the training
				return act(snapshot)
			}
		}
		return errors.New("the training has not started")
	})
}

// expectUndisturbedLosses checks that a training has completed, and that its losses agree with the losses of an
// uninterrupted training without MPI.
func (i interruptedTraining) expectUndisturbedLosses(t *testing.T, got outcome) {
	t.Helper()
	if got.condition != trainer.TrainJobComplete {
		t.Fatalf("the training has condition %q, want Complete", got.condition)
	}
	var losses []float64
	text, err := os.ReadFile(i.outputPath("losses.json"))
	if err == nil {
		err = json.Unmarshal(text, &losses)
	}
	if err != nil {
		t.Fatal(err)
	}
	expectClose(t, "losses", lineLosses(len(losses)), losses)
	if len(losses) != 50 {
		t.Errorf("the training has %d steps, want 50", len(losses))
	}
}

// lineLosses contains the training algorithm of the Python program resume.py, written in Go. lineLosses runs this
// algorithm, and returns the value of the loss function at each step. The argument "steps" is the number of steps.
func lineLosses(steps int) []float64 {
	const points, rate = 1200, 0.3
	var losses []float64
	slope, intercept := 0.0, 0.0
	for range steps {
		var loss, bySlope, byIntercept float64
		for n := range points {
			x := float64(n) / points
			e := slope*x + intercept - (3*x + 2)
			loss, bySlope, byIntercept = loss+e*e, bySlope+e*x, byIntercept+e
		}
		losses = append(losses, loss/points)
		slope, intercept = slope-rate*bySlope/points, intercept-rate*byIntercept/points
	}
	return losses
}

func (i interruptedTraining) countRestarts(t *testing.T) int32 {
	t.Helper()
	var set jobset.JobSet
	if err := i.client.Get(t.Context(), i.key(), &set); err != nil {
		t.Fatal(err)
	}
	return set.Status.Restarts
}

func (s *sandbox) evict(ctx context.Context, pod jobs.Pod) error {
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
	return s.client.SubResource("eviction").Create(ctx, &corev1.Pod{ObjectMeta: pod.ObjectMeta}, eviction)
}

// TestRanksSaveBeforeSuspension checks that ranks get SIGTERM when their job is suspended, and have enough
// time to write a checkpoint before they are killed.
func TestRanksSaveBeforeSuspension(t *testing.T) {
	for _, runtime := range restartingRuntimes {
		t.Run(runtime, func(t *testing.T) {
			t.Parallel()
			i := useCluster(t).newTraining(t, runtime)
			i.whenTraining(t, func(jobs.Snapshot) error { return i.suspendAndResume(t) })
			i.expectUndisturbedLosses(t, i.run(t, i.job))
			if _, err := os.Stat(i.outputPath("losses.json.checkpoint")); err != nil {
				t.Errorf("the ranks saved no work: %v", err)
			}
		})
	}
}

// waitingRanks is a program that runs twice: before the job is suspended, and after the job is resumed. In the first
// run, the ranks wait until every rank has got SIGTERM, and then end. If a rank ended earlier, mpirun could kill ranks
// in other pods before these ranks get SIGTERM. In the second run, the ranks end at once, so that the job completes.
const waitingRanks = `
import json, os, signal, socket, sys, time
from mpi4py import MPI
world, out, stopped = MPI.COMM_WORLD, sys.argv[1], False
if world.bcast(os.path.exists(out + ".signal.0")):
    sys.exit()
def stop(*_):
    global stopped
    with open(f"{out}.signal.{world.rank}", "w") as file:
        json.dump(socket.gethostname(), file)
    stopped = True
signal.signal(signal.SIGTERM, stop)
world.barrier()
print("waiting", flush=True)
while not stopped:
    time.sleep(0.1)
world.barrier()
sys.exit(143)
`

func TestSuspensionSignalsEveryRank(t *testing.T) {
	for _, runtime := range restartingRuntimes {
		t.Run(runtime, func(t *testing.T) {
			t.Parallel()
			i := useCluster(t).newTraining(t, runtime)
			i.job.Command("mpirun", "python3", "-m", "mpi4py", "-c", waitingRanks, "/mnt/results/losses.json")
			i.whenTraining(t, func(jobs.Snapshot) error { return i.suspendAndResume(t) })
			if got := i.run(t, i.job); got.condition != trainer.TrainJobComplete {
				t.Errorf("the job has condition %q, want Complete", got.condition)
			}
			i.expectSignals(t, map[string]string{"0": "train-launcher-0-0", "1": "train-launcher-0-0", "2": "train-node-0-0", "3": "train-node-0-0"})
		})
	}
}

func (i interruptedTraining) suspendAndResume(t *testing.T) error {
	t.Helper()
	if err := i.suspend(i.key(), true); err != nil {
		return err
	}
	poll.Until(t, podTimeout, func(ctx context.Context) error {
		snapshot, err := i.jobs.Get(ctx, i.key())
		if err == nil && len(snapshot.Pods) > 0 {
			err = fmt.Errorf("the suspended job has %d pods", len(snapshot.Pods))
		}
		return err
	})
	return i.suspend(i.key(), false)
}

func (i interruptedTraining) expectSignals(t *testing.T, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	for rank := range 2 * ranksPerHost {
		var host string
		text, err := os.ReadFile(i.outputPath(fmt.Sprintf("losses.json.signal.%d", rank)))
		if err == nil && json.Unmarshal(text, &host) == nil {
			got[fmt.Sprint(rank)] = host
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("hosts of the ranks that got SIGTERM: -want +got:\n%s", diff)
	}
}

func TestTrainingSurvivesEviction(t *testing.T) {
	for _, runtime := range restartingRuntimes {
		for _, role := range []jobs.Role{jobs.Node, jobs.Launcher} {
			t.Run(runtime+" "+string(role), func(t *testing.T) {
				t.Parallel()
				i := useCluster(t).newTraining(t, runtime)
				i.whenTraining(t, func(snapshot jobs.Snapshot) error { return i.evict(t.Context(), snapshot.PodsOf(role)[0]) })
				i.expectUndisturbedLosses(t, i.run(t, i.job))
				if n := i.countRestarts(t); n != 1 {
					t.Errorf("the training started again %d times, want once", n)
				}
				if _, err := os.Stat(i.outputPath("losses.json.checkpoint")); err != nil {
					t.Errorf("the ranks saved no work: %v", err)
				}
			})
		}
	}
}

// TestTrainingSurvivesLostClusterNode kills the kubelet and all processes of a cluster node. The test then marks the
// cluster node as out of service, as an administrator or a cloud provider does.
func TestTrainingSurvivesLostClusterNode(t *testing.T) {
	s := useCluster(t)
	for _, base := range []string{"openmpi-restarts", "mpich-restarts"} {
		t.Run(base, func(t *testing.T) {
			runtime := s.changedRuntime(t, base, func(spec *trainer.TrainingRuntimeSpec) {
				node := podSpec(spec, jobs.Node)
				node.Tolerations = []corev1.Toleration{{Key: "expendable", Operator: corev1.TolerationOpExists}}
				preferred := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{expendableNode}}}}
				node.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
					PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 100, Preference: preferred}},
				}}
			})
			i := s.newTraining(t, runtime)
			i.whenTraining(t, func(jobs.Snapshot) error { return i.loseNode(t, expendableNode) })
			i.expectUndisturbedLosses(t, i.run(t, i.job))
			if n := i.countRestarts(t); n != 1 {
				t.Errorf("the training started again %d times, want once", n)
			}
		})
	}
}

func (s *sandbox) loseNode(t *testing.T, name string) error {
	t.Cleanup(func() {
		options := cluster.Options{Dir: s.dir, Nodes: nodeCount, Trainer: trainerTools(), Progress: os.Stderr}
		_, _ = s.runKubectl("", "taint", "node", name, corev1.TaintNodeOutOfService+"-")
		if err := cluster.Up(context.Background(), options); err != nil {
			t.Errorf("starting %s again: %v", name, err)
		}
	})
	if err := cluster.StopNode(t.Context(), s.dir, name); err != nil {
		return err
	}
	out, err := s.runKubectl("", "taint", "node", name, corev1.TaintNodeOutOfService+"=nodeshutdown:NoExecute")
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

func TestFailedProgramsAreNotRestarted(t *testing.T) {
	for _, runtime := range restartingRuntimes {
		t.Run(runtime, func(t *testing.T) {
			t.Parallel()
			i := useCluster(t).newTraining(t, runtime, "--fail-at", "5")
			if got := i.run(t, i.job); got.condition != trainer.TrainJobFailed {
				t.Errorf("the training has condition %q, want Failed", got.condition)
			}
			if n := i.countRestarts(t); n != 0 {
				t.Errorf("the training started again %d times, want never", n)
			}
		})
	}
}
