//go:build linux

package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/api/jobs"
	"github.com/trainyard/trainyard/test/build"
	"github.com/trainyard/trainyard/test/process"
	"github.com/trainyard/trainyard/test/upstream"
)

// TestPoliciesKeepPodsApart: with somebody who enforces them, jobs of a tenant run as they did, and
// nobody else reaches their pods. It runs before all tests that run beside each other.
func TestPoliciesKeepPodsApart(t *testing.T) {
	s := start(t)
	s.enforce(t)
	t.Run("MPI works under default deny", func(t *testing.T) {
		job := build.MakeTrainJob("sum", team).NamespacedRuntime("openmpi-team").Nodes(3)
		s.expectSum(t, job, []string{"launcher-0-0", "node-0-0", "node-0-1"})
	})
	mine := s.idle(t, build.MakeTrainJob("mine", team).NamespacedRuntime("openmpi-team"))
	others := s.idle(t, build.MakeTrainJob("others", s.namespace(t)).Runtime("openmpi"))
	for name, tc := range map[string]struct {
		from, to jobs.Pod
		want     bool
	}{
		"a launcher reaches its node":                        {mine[jobs.Launcher], mine[jobs.Node], true},
		"a node reaches its launcher, where nobody listens":  {mine[jobs.Node], mine[jobs.Launcher], true},
		"where there are no policies, too":                   {others[jobs.Launcher], others[jobs.Node], true},
		"a job of another namespace does not reach the node": {others[jobs.Launcher], mine[jobs.Node], false},
		"nor does the node reach one of another namespace":   {mine[jobs.Node], others[jobs.Node], false},
		"nor the launcher, where somebody else would let it": {mine[jobs.Launcher], others[jobs.Node], false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := answered(t, tc.from, tc.to.Status.PodIP, "2222"); got != tc.want {
				t.Errorf("%s gets an answer of %s: %t, want %t", tc.from.Name, tc.to.Name, got, tc.want)
			}
		})
	}
}

// enforce has every new connection of a pod decided on, by the policies of the cluster.
func (s *sandbox) enforce(t *testing.T) {
	t.Helper()
	tools, err := upstream.Tools("")
	if err != nil {
		t.Fatal(err)
	}
	program := tools.Path("network-policies")
	if err := upstream.Need("packets-tools", program); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(t.TempDir(), "engine.log"))
	if err != nil {
		t.Fatal(err)
	}
	engine, err := process.Run(exec.Command(program, "-kubeconfig", s.kubeconfig), log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s: %s", engine, process.Tail(log.Name()))
		}
		if err := engine.Stop(); err != nil {
			t.Error(err)
		}
	})
	// Pods alone: what a node itself sends, no policy looks at.
	for node := range nodes {
		rule := fmt.Sprintf("FORWARD -s 198.18.%d.0/24 -m conntrack --ctstate NEW -j NFQUEUE --queue-num 100", node+1)
		iptables(t, "-I "+rule)
		t.Cleanup(func() { iptables(t, "-D "+rule) })
	}
}

func iptables(t *testing.T, args string) {
	t.Helper()
	if out, err := exec.Command("iptables", strings.Fields(args)...).CombinedOutput(); err != nil {
		t.Errorf("iptables %s: %v: %s", args, err, out)
	}
}

// idle starts a job of a launcher and a node that does nothing, until the test ends.
func (s *sandbox) idle(t *testing.T, job *build.TrainJob) map[jobs.Role]jobs.Pod {
	t.Helper()
	obj := job.Nodes(2).ProcPerNode(procs).Command("sleep", "600").Obj()
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(s.describe(obj.Namespace))
		}
		_, _ = s.try("", "-n", obj.Namespace, "delete", "trainjob", obj.Name, "--wait=false")
	})
	eventually(t, jobPatience, func() error { return s.client.Create(t.Context(), obj.DeepCopy()) })
	pods := map[jobs.Role]jobs.Pod{}
	eventually(t, jobPatience, func() error {
		view, err := s.jobs.Look(t.Context(), client.ObjectKeyFromObject(obj))
		if err != nil {
			return err
		}
		for _, role := range []jobs.Role{jobs.Launcher, jobs.Node} {
			found := view.Of(role)
			if len(found) != 1 || found[0].Status.Phase != corev1.PodRunning {
				return errors.New("the job does not run yet")
			}
			pods[role] = found[0]
		}
		return nil
	})
	return pods
}

// answered tells whether a pod gets an answer at a port, be it that nobody listens there. Packets that
// are dropped get none.
func answered(t *testing.T, from jobs.Pod, address, port string) bool {
	t.Helper()
	process, err := processOf(from)
	if err != nil {
		t.Fatal(err)
	}
	connect := fmt.Sprintf("exec 3<>/dev/tcp/%s/%s", address, port)
	out, err := exec.CommandContext(t.Context(), "nsenter", "--net", "--target", process, "timeout", "5", "bash", "-c", connect).CombinedOutput()
	return err == nil || strings.Contains(string(out), "Connection refused")
}
