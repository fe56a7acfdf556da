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
	// hasty is a runtime whose preflight gives up after hastyPatience.
	hasty         = "openmpi-hasty"
	hastyPatience = 20 * time.Second
	// podPatience is how long pods may take to start and jobs to see that they have ended, on a
	// busy machine. On an idle one it is 5 to 10 seconds.
	podPatience = 60 * time.Second
)

// TestPreflightNamesHostAndCause: what breaks in real pods is told apart, and the job fails soon.
func TestPreflightNamesHostAndCause(t *testing.T) {
	t.Parallel()
	s := start(t)
	everyNode := []string{"sum-node-0-0", "sum-node-0-1"}
	for name, tc := range map[string]struct {
		change func(*testing.T, *trainer.TrainingRuntimeSpec)
		procs  int32
		hosts  []string // that are not reached
		cause  string
		detail string
	}{
		"sshd is not started": {
			change: func(t *testing.T, spec *trainer.TrainingRuntimeSpec) {
				rewrite(t, container(spec, jobs.Node, jobs.Main), `exec "$sshd" -D -e -f /mpi-run/sshd_config "$@"`, "exec sleep 600")
			},
			procs: procs, hosts: everyNode, cause: "refused", detail: "Connection refused",
		},
		"sshd listens on another port": {
			change: func(t *testing.T, spec *trainer.TrainingRuntimeSpec) {
				rewrite(t, container(spec, jobs.Node, "identity"), "END\ncat > sshd_config <<'END'\nPort 2222", "END\ncat > sshd_config <<'END'\nPort 2223")
			},
			procs: procs, hosts: everyNode, cause: "refused", detail: "Connection refused",
		},
		"hosts have no names": {
			change: func(_ *testing.T, spec *trainer.TrainingRuntimeSpec) {
				spec.Template.Spec.Network.EnableDNSHostnames = ptr.To(false)
			},
			procs: procs, hosts: append([]string{"sum-launcher-0-0"}, everyNode...), cause: "unresolvable", detail: "no such host name",
		},
		"nodes accept another key": {
			change: func(t *testing.T, spec *trainer.TrainingRuntimeSpec) {
				rewrite(t, container(spec, jobs.Node, "identity"), "AuthorizedKeysFile /home/mpiuser/.ssh/authorized_keys", "AuthorizedKeysFile /mpi-run/nobody")
			},
			procs: procs, hosts: everyNode, cause: "denied", detail: "Permission denied",
		},
		"more ranks than CPUs": {
			change: func(*testing.T, *trainer.TrainingRuntimeSpec) {},
			procs:  100, hosts: append([]string{"sum-launcher-0-0"}, everyNode...), cause: "slots", detail: "available for 100 slots",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runtime := s.spoil(t, hasty, func(spec *trainer.TrainingRuntimeSpec) { tc.change(t, spec) })
			began := time.Now()
			got := s.finish(t, build.MakeTrainJob("sum", s.namespace(t)).Runtime(runtime).Nodes(3).ProcPerNode(tc.procs))
			s.expectBroken(t, got, tc.hosts, tc.cause, tc.detail)
			if took := time.Since(began); took > hastyPatience+podPatience {
				t.Errorf("it took %s to fail", took)
			}
		})
	}
}

// expectBroken wants a failed job whose verdict names these hosts for this cause, and no others.
func (s *sandbox) expectBroken(t *testing.T, got outcome, hosts []string, cause, detail string) {
	t.Helper()
	if got.condition != trainer.TrainJobFailed || len(got.ranks) > 0 {
		t.Errorf("the job is %s with ranks %v, want Failed and none", got.condition, got.ranks)
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

// TestNetworkPolicyConflicts is the edge case of that name: where packets are dropped, preflight
// names the one node that nobody reaches, and no other.
func TestNetworkPolicyConflicts(t *testing.T) {
	t.Parallel()
	s := start(t)
	runtime := s.spoil(t, hasty, func(spec *trainer.TrainingRuntimeSpec) {
		// The launcher waits until the test has closed the other pod's port.
		rewrite(t, container(spec, jobs.Launcher, "identity"), "set -eu", "set -eu; sleep 8")
	})
	namespace := s.namespace(t)
	job := build.MakeTrainJob("sum", namespace).Runtime(runtime).Nodes(3).ProcPerNode(procs)
	s.onceTheyRun(t, namespace, "sum", func(nodes []jobs.Pod) error { return closePort(t.Context(), nodes[1]) })
	got := s.finish(t, job)
	s.expectBroken(t, got, []string{"sum-node-0-1"}, "timeout", "timed out")
}

// TestANodeThatDiesDuringTheStart fails the job at once, long before preflight gives up.
func TestANodeThatDiesDuringTheStart(t *testing.T) {
	t.Parallel()
	s := start(t)
	runtime := s.spoil(t, hasty, func(spec *trainer.TrainingRuntimeSpec) {
		setEnv(container(spec, jobs.Launcher, "preflight"), "PREFLIGHT_TIMEOUT_SECONDS", "600")
		rewrite(t, container(spec, jobs.Node, jobs.Main), `exec "$sshd"`, `case $JOB_COMPLETION_INDEX in 1) echo "this node dies" >&2; exit 3 ;; esac; exec "$sshd"`)
	})
	namespace := s.namespace(t)
	began := time.Now()
	got := s.finish(t, build.MakeTrainJob("sum", namespace).Runtime(runtime).Nodes(3).ProcPerNode(procs))
	if got.condition != trainer.TrainJobFailed {
		t.Errorf("the job is %s, want Failed", got.condition)
	}
	if took := time.Since(began); took > podPatience {
		t.Errorf("it took %s to fail", took)
	}
	dead := s.podOf(t, namespace, "sum", jobs.Node, 1)
	if log, err := s.jobs.Log(t.Context(), dead, jobs.Main, 10); err != nil || !strings.Contains(log, "this node dies") {
		t.Errorf("the dead node's log is gone: %v %s", err, log)
	}
}

// TestAMachineThatDiesDuringTheStart takes its pods along without a word, and Kubernetes needs
// most of a minute to notice. Preflight is sooner.
func TestAMachineThatDiesDuringTheStart(t *testing.T) {
	t.Parallel()
	s := start(t)
	runtime := s.spoil(t, hasty, func(spec *trainer.TrainingRuntimeSpec) {
		rewrite(t, container(spec, jobs.Launcher, "identity"), "set -eu", "set -eu; sleep 8")
		node := pod(spec, jobs.Node)
		node.NodeSelector = map[string]string{corev1.LabelHostname: doomed}
		node.Tolerations = []corev1.Toleration{{Key: "doomed", Operator: corev1.TolerationOpExists}}
	})
	namespace := s.namespace(t)
	s.onceTheyRun(t, namespace, "sum", func([]jobs.Pod) error { return cluster.StopNode(t.Context(), s.dir, doomed) })
	began := time.Now()
	got := s.finish(t, build.MakeTrainJob("sum", namespace).Runtime(runtime).Nodes(3).ProcPerNode(procs))
	if took := time.Since(began); took > hastyPatience+podPatience {
		t.Errorf("it took %s to fail", took)
	}
	var lost []string
	for _, f := range got.verdict.Failed {
		lost = append(lost, f.Host)
		// Which of them depends on how soon the bridge notices.
		if f.Cause != "timeout" && f.Cause != "unreachable" && f.Cause != "unresolvable" {
			t.Errorf("the verdict on %s is %q", f.Host, f.String())
		}
	}
	if diff := cmp.Diff([]string{"sum-node-0-0", "sum-node-0-1"}, lost); diff != "" || got.condition != trainer.TrainJobFailed {
		t.Errorf("the job is %s, lost hosts -want +got:\n%s", got.condition, diff)
	}
}
