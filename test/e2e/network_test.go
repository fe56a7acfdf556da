//go:build linux

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/api/jobs"
	"github.com/trainyard/trainyard/test/build"
	"github.com/trainyard/trainyard/test/poll"
	"github.com/trainyard/trainyard/test/process"
	"github.com/trainyard/trainyard/test/upstream"
)

// TestNetworkPoliciesIsolatePods checks that the network policies of a tenant allow connections within a TrainJob,
// and deny connections between the pods of the TrainJob and pods in other namespaces. The test does not run in
// parallel with other tests, because enforcePolicies would also enforce network policies on the pods of the other
// tests.
func TestNetworkPoliciesIsolatePods(t *testing.T) {
	s := useCluster(t)
	s.enforcePolicies(t)
	t.Run("MPI works under default deny", func(t *testing.T) {
		job := build.MakeTrainJob("sum", tenantName).NamespacedRuntime("openmpi-team").Nodes(3)
		s.expectSum(t, job, []string{"launcher-0-0", "node-0-0", "node-0-1"})
	})
	own := s.startIdle(t, build.MakeTrainJob("own", tenantName).NamespacedRuntime("openmpi-team"))
	other := s.startIdle(t, build.MakeTrainJob("other", s.makeNamespace(t)).Runtime("openmpi"))
	for name, tc := range map[string]struct {
		from, to jobs.Pod
		want     bool
	}{
		"a launcher reaches its node":                            {own[jobs.Launcher], own[jobs.Node], true},
		"a node reaches a closed port of its launcher":           {own[jobs.Node], own[jobs.Launcher], true},
		"a launcher reaches its node without policies":           {other[jobs.Launcher], other[jobs.Node], true},
		"a job of another namespace does not reach the node":     {other[jobs.Launcher], own[jobs.Node], false},
		"the node does not reach a job of another namespace":     {own[jobs.Node], other[jobs.Node], false},
		"the launcher does not reach a job of another namespace": {own[jobs.Launcher], other[jobs.Node], false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := getsResponse(t, tc.from, tc.to.Status.PodIP, "2222"); got != tc.want {
				t.Errorf("%s responds to %s: %t, want %t", tc.to.Name, tc.from.Name, got, tc.want)
			}
		})
	}
}

// portsTenant is the name of the tenant in testdata/ports.yaml. The tenant's namespace has the same name.
const portsTenant = "ports"

// TestRanksUseOnlyThePinnedPorts runs jobs while network policies allow only the ports of network.mpi.ports and the port
// of SSH. With a runtime that does not pin the ports of MPI, the ranks must fail to reach each other. The test does not
// run in parallel with other tests, because enforcePolicies would also enforce network policies on the pods of the other
// tests.
func TestRanksUseOnlyThePinnedPorts(t *testing.T) {
	s := useCluster(t)
	if err := s.client.Create(t.Context(), restrictedNamespace(portsTenant)); client.IgnoreAlreadyExists(err) != nil {
		t.Fatal(err)
	}
	generated, err := s.generate(t.Context(), "test/e2e/testdata/ports.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := s.runKubectl(generated, "apply", "--server-side", "-f", "-"); err != nil {
		t.Fatalf("applying the generated objects: %v: %s", err, out)
	}
	s.enforcePolicies(t)
	for _, mpi := range []string{"openmpi", "openmpi5", "mpich", "intel"} {
		t.Run(mpi, func(t *testing.T) {
			s.expectSum(t, build.MakeTrainJob("sum-"+mpi, portsTenant).NamespacedRuntime(mpi).Nodes(3), []string{"launcher-0-0", "node-0-0", "node-0-1"})
		})
		t.Run(mpi+" on any port", func(t *testing.T) {
			job := build.MakeTrainJob("any-"+mpi, portsTenant).Runtime(mpi).Nodes(2).ProcPerNode(1)
			got := s.run(t, job.Command("timeout", "-s", "KILL", "30", "mpirun", "python3", "/opt/allreduce.py"))
			if got.condition != trainer.TrainJobFailed || len(got.ranks) > 0 {
				t.Errorf("the job has condition %q and its ranks print %q, want a failed job without a sum", got.condition, got.ranks)
			}
		})
	}
}

// enforcePolicies runs the policy agent, which is the program "network-policies". The agent allows or drops each new
// connection of a pod, as the network policies require.
func (s *sandbox) enforcePolicies(t *testing.T) {
	t.Helper()
	tools, err := upstream.Tools("")
	if err != nil {
		t.Fatal(err)
	}
	program := tools.Path("network-policies")
	if err := upstream.RequireBuilt("packets-tools", program); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(t.TempDir(), "agent.log"))
	if err != nil {
		t.Fatal(err)
	}
	agent, err := process.Run(exec.Command(program, "-kubeconfig", s.kubeconfig), log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s: %s", agent, process.Tail(log.Name()))
		}
		if err := agent.Stop(); err != nil {
			t.Error(err)
		}
	})
	// The following iptables rules ask the policy agent about each new connection that a pod opens. Connections that
	// the cluster node itself opens do not need an iptables rule, because network policies do not apply to these
	// connections.
	for node := range nodeCount {
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

func (s *sandbox) startIdle(t *testing.T, job *build.TrainJob) map[jobs.Role]jobs.Pod {
	t.Helper()
	obj := job.Nodes(2).ProcPerNode(ranksPerHost).Command("sleep", "600").Obj()
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(s.describeNamespace(obj.Namespace))
		}
		_, _ = s.runKubectl("", "-n", obj.Namespace, "delete", "trainjob", obj.Name, "--wait=false")
	})
	poll.Until(t, jobTimeout, func(ctx context.Context) error { return s.client.Create(ctx, obj.DeepCopy()) })
	pods := map[jobs.Role]jobs.Pod{}
	poll.Until(t, jobTimeout, func(ctx context.Context) error {
		snapshot, err := s.jobs.Get(ctx, client.ObjectKeyFromObject(obj))
		if err != nil {
			return err
		}
		for _, role := range []jobs.Role{jobs.Launcher, jobs.Node} {
			found := snapshot.PodsOf(role)
			if len(found) != 1 || found[0].Status.Phase != corev1.PodRunning {
				return errors.New("the job does not run yet")
			}
			pods[role] = found[0]
		}
		return nil
	})
	return pods
}

// getsResponse reports whether a pod gets a response from a port at an address. A refused connection also counts as a
// response, because it shows that no policy drops the packets.
func getsResponse(t *testing.T, from jobs.Pod, address, port string) bool {
	t.Helper()
	const timedOut = 124 // the exit status of timeout(1) after a timeout
	cmd, err := inNetworkOf(t.Context(), from, "timeout", "5", "bash", "-c", fmt.Sprintf("exec 3<>/dev/tcp/%s/%s", address, port))
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.CombinedOutput()
	responds := err == nil || strings.Contains(string(out), "Connection refused")
	if !responds && cmd.ProcessState.ExitCode() != timedOut {
		t.Fatalf("connecting from %s to %s: %v: %s", from.Name, net.JoinHostPort(address, port), err, out)
	}
	return responds
}
