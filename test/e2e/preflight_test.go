//go:build linux

package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/trainyard/trainyard/api/jobs"
	"github.com/trainyard/trainyard/test/build"
	"github.com/trainyard/trainyard/test/cluster"
)

const (
	// shortTimeout is the name of a runtime. Its preflight check waits at most for the time preflightTimeout until SSH
	// reaches all hosts.
	shortTimeout     = "openmpi-short-timeout"
	preflightTimeout = 20 * time.Second
	// podTimeout is the maximum time that the cluster needs to start pods and to notice that pods have ended. An
	// idle machine needs 5 to 10 seconds, but a busy machine needs longer.
	podTimeout = 60 * time.Second
)

// TestPreflightNamesHostAndCause checks that the preflight verdict contains the failed hosts, and the cause of the
// failure. Each job must fail within the sum of preflightTimeout and podTimeout.
func TestPreflightNamesHostAndCause(t *testing.T) {
	t.Parallel()
	s := useCluster(t)
	everyNode := []string{"sum-node-0-0", "sum-node-0-1"}
	for name, tc := range map[string]struct {
		change func(*testing.T, *trainer.TrainingRuntimeSpec)
		procs  int32
		hosts  []string // hosts that preflight reports as failed
		cause  string
		detail string
	}{
		"sshd is not started": {
			change: func(t *testing.T, spec *trainer.TrainingRuntimeSpec) {
				rewrite(t, findContainer(spec, jobs.Node, jobs.MainContainer), `exec "$sshd" -D -e -f /mpi-run/sshd_config "$@"`, "exec sleep 600")
			},
			procs: ranksPerHost, hosts: everyNode, cause: "refused", detail: "Connection refused",
		},
		"sshd listens on another port": {
			change: func(t *testing.T, spec *trainer.TrainingRuntimeSpec) {
				rewrite(t, findContainer(spec, jobs.Node, "identity"), "END\ncat > sshd_config <<'END'\nPort 2222", "END\ncat > sshd_config <<'END'\nPort 2223")
			},
			procs: ranksPerHost, hosts: everyNode, cause: "refused", detail: "Connection refused",
		},
		"hosts have no names": {
			change: func(_ *testing.T, spec *trainer.TrainingRuntimeSpec) {
				spec.Template.Spec.Network.EnableDNSHostnames = ptr.To(false)
			},
			procs: ranksPerHost, hosts: append([]string{"sum-launcher-0-0"}, everyNode...), cause: "unresolvable", detail: "no such host name",
		},
		"nodes accept another key": {
			change: func(t *testing.T, spec *trainer.TrainingRuntimeSpec) {
				rewrite(t, findContainer(spec, jobs.Node, "identity"), "AuthorizedKeysFile /home/mpiuser/.ssh/authorized_keys", "AuthorizedKeysFile /mpi-run/nobody")
			},
			procs: ranksPerHost, hosts: everyNode, cause: "denied", detail: "Permission denied",
		},
		// Each node must run two ranks, but the CPU limit of its container is below two CPUs. Preflight must compare
		// the number of ranks with this limit, and not with the CPUs of the machine.
		"more ranks than the CPU limit": {
			change: func(_ *testing.T, spec *trainer.TrainingRuntimeSpec) {
				setEnv(findContainer(spec, jobs.Launcher, "preflight"), "PREFLIGHT_OVERSUBSCRIBE", "false")
			},
			procs: ranksPerHost, hosts: everyNode, cause: "slots", detail: "1 available for 2 slots",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runtime := s.changedRuntime(t, shortTimeout, func(spec *trainer.TrainingRuntimeSpec) { tc.change(t, spec) })
			began := time.Now()
			got := s.run(t, build.MakeTrainJob("sum", s.makeNamespace(t)).Runtime(runtime).Nodes(3).ProcPerNode(tc.procs))
			s.expectFailure(t, got, tc.hosts, tc.cause, tc.detail)
			if took := time.Since(began); took > preflightTimeout+podTimeout {
				t.Errorf("the job failed after %s, want at most %s", took, preflightTimeout+podTimeout)
			}
		})
	}
}

func (s *sandbox) expectFailure(t *testing.T, got outcome, hosts []string, cause, detail string) {
	t.Helper()
	if got.condition != trainer.TrainJobFailed || len(got.ranks) > 0 {
		t.Errorf("the job has condition %q and ranks %v, want Failed and none", got.condition, got.ranks)
	}
	var named []string
	for _, f := range got.verdict.Failed {
		named = append(named, f.Host)
		if f.Cause != cause || !strings.Contains(f.Detail, detail) {
			t.Errorf("the verdict on %s is %q, want %q with %q", f.Host, f.String(), cause, detail)
		}
	}
	if diff := cmp.Diff(hosts, named); diff != "" {
		t.Errorf("hosts that failed: -want +got:\n%s", diff)
	}
	if want := got.verdict.Hosts - len(hosts); got.verdict.Reached != want {
		t.Errorf("%d of %d hosts reached, want %d", got.verdict.Reached, got.verdict.Hosts, want)
	}
}

// TestNetworkPolicyConflicts drops packets to one node, and expects that preflight reports only this node.
func TestNetworkPolicyConflicts(t *testing.T) {
	t.Parallel()
	s := useCluster(t)
	runtime := s.changedRuntime(t, shortTimeout, func(spec *trainer.TrainingRuntimeSpec) {
		// The launcher waits for 8 seconds, so that the test has time to close the port of a node.
		rewrite(t, findContainer(spec, jobs.Launcher, "identity"), "set -eu", "set -eu; sleep 8")
	})
	namespace := s.makeNamespace(t)
	job := build.MakeTrainJob("sum", namespace).Runtime(runtime).Nodes(3).ProcPerNode(ranksPerHost)
	s.whenNodesRun(t, namespace, "sum", func(nodes []jobs.Pod) error { return closePort(t.Context(), nodes[1]) })
	got := s.run(t, job)
	s.expectFailure(t, got, []string{"sum-node-0-1"}, "timeout", "timed out")
}

// TestNodePodFailureDuringStartFailsTheJob checks that the job fails soon after a node has failed, long before the
// timeout of preflight.
func TestNodePodFailureDuringStartFailsTheJob(t *testing.T) {
	t.Parallel()
	s := useCluster(t)
	runtime := s.changedRuntime(t, shortTimeout, func(spec *trainer.TrainingRuntimeSpec) {
		setEnv(findContainer(spec, jobs.Launcher, "preflight"), "PREFLIGHT_TIMEOUT_SECONDS", "600")
		rewrite(t, findContainer(spec, jobs.Node, jobs.MainContainer), `exec "$sshd"`, `case $JOB_COMPLETION_INDEX in 1) echo "this node fails" >&2; exit 3 ;; esac; exec "$sshd"`)
	})
	namespace := s.makeNamespace(t)
	began := time.Now()
	got := s.run(t, build.MakeTrainJob("sum", namespace).Runtime(runtime).Nodes(3).ProcPerNode(ranksPerHost))
	if got.condition != trainer.TrainJobFailed {
		t.Errorf("the job has condition %q, want Failed", got.condition)
	}
	if took := time.Since(began); took > podTimeout {
		t.Errorf("the job failed after %s, want at most %s", took, podTimeout)
	}
	failed := s.findPod(t, namespace, "sum", jobs.Node, 1)
	if log, err := s.jobs.Log(t.Context(), failed, jobs.MainContainer, 10); err != nil || !strings.Contains(log, "this node fails") {
		t.Errorf("the log of the failed node: %v %s, want its message", err, log)
	}
}

// TestClusterNodeFailureIsReportedByPreflight stops a cluster node abruptly, and expects that preflight reports
// the lost hosts. Preflight must find the failure, because Kubernetes notices it only after almost a minute.
func TestClusterNodeFailureIsReportedByPreflight(t *testing.T) {
	t.Parallel()
	s := useCluster(t)
	runtime := s.changedRuntime(t, shortTimeout, func(spec *trainer.TrainingRuntimeSpec) {
		rewrite(t, findContainer(spec, jobs.Launcher, "identity"), "set -eu", "set -eu; sleep 8")
		node := podSpec(spec, jobs.Node)
		node.NodeSelector = map[string]string{corev1.LabelHostname: expendableNode}
		node.Tolerations = []corev1.Toleration{{Key: "expendable", Operator: corev1.TolerationOpExists}}
	})
	namespace := s.makeNamespace(t)
	s.whenNodesRun(t, namespace, "sum", func([]jobs.Pod) error { return cluster.StopNode(t.Context(), s.dir, expendableNode) })
	began := time.Now()
	got := s.run(t, build.MakeTrainJob("sum", namespace).Runtime(runtime).Nodes(3).ProcPerNode(ranksPerHost))
	if took := time.Since(began); took > preflightTimeout+podTimeout {
		t.Errorf("the job failed after %s, want at most %s", took, preflightTimeout+podTimeout)
	}
	var lost []string
	for _, f := range got.verdict.Failed {
		lost = append(lost, f.Host)
		// The test accepts three causes, because the cause depends on how soon the network bridge
		// notices that the cluster node is gone.
		if f.Cause != "timeout" && f.Cause != "unreachable" && f.Cause != "unresolvable" {
			t.Errorf("the verdict on %s is %q, want a timeout or an unreachable host", f.Host, f.String())
		}
	}
	if diff := cmp.Diff([]string{"sum-node-0-0", "sum-node-0-1"}, lost); diff != "" || got.condition != trainer.TrainJobFailed {
		t.Errorf("the job has condition %q, lost hosts: -want +got:\n%s", got.condition, diff)
	}
}
