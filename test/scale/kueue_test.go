//go:build linux

package scale

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/test/build"
	"github.com/trainyard/trainyard/test/cluster"
	"github.com/trainyard/trainyard/test/upstream"
)

// hosts is how many pods a queued job has. There is room for one such job in the team's queue, if it borrows.
const hosts = 3

// TestJobsWaitForQuota in the queues that trainyard makes, of what their ClusterQueues have and what
// they borrow: as many nodes as vet says, and no more.
func TestJobsWaitForQuota(t *testing.T) {
	if os.Getenv("TRAINYARD_KUEUE") == "" {
		t.Skip("needs Kueue and a cluster of simulated nodes: run `make kueue`")
	}
	for version, documents := range map[string][]string{
		"trainer-2.3": {"platform.yaml", "kueue.yaml"},
		"trainer-2.1": {"platform.yaml", "kueue.yaml", "kueue-trainer-2.1.yaml"},
	} {
		t.Run(version, func(t *testing.T) {
			s := start(t, cluster.Options{Nodes: hosts, Trainer: version, Kueue: true}, documents...)
			s.expectNoDrift(t, documents)
			t.Run("of two jobs, the second waits until the first has gone", s.expectTurns)
			for queue, most := range mostNodes(t, documents) {
				t.Run("as many nodes are admitted as vet says: "+queue, func(t *testing.T) { s.expectMost(t, queue, most) })
			}
			t.Run("pods that must be near to each other are", s.expectNearness)
			// An old client asks for what Kueue has to convert.
			if diff := cmp.Diff("ours", s.kubectl(t, "", "get", "localqueues.v1beta1.kueue.x-k8s.io", "team", "-o", "jsonpath={.spec.clusterQueue}")); diff != "" {
				t.Errorf("the queue in an older version of its kind: -want +got:\n%s", diff)
			}
		})
	}
}

// expectNoDrift: Kueue's webhooks and controllers leave what was applied as it is.
func (s *sandbox) expectNoDrift(t *testing.T, documents []string) {
	t.Helper()
	s.kubectl(t, generated(t, documents), "diff", "--server-side", "-f", "-") // ends with 1 if it finds any
}

// mostNodes is how many nodes vet says that each queue admits.
func mostNodes(t *testing.T, documents []string) map[string]int {
	t.Helper()
	var fits []generator.Fit
	if err := json.Unmarshal([]byte(trainyard(t, []string{"vet", "--fit", "-o", "json"}, documents)), &fits); err != nil {
		t.Fatal(err)
	}
	most := map[string]int{}
	for _, f := range fits {
		if f.Runtime == "openmpi" && f.Queue != "near" {
			most[f.Queue] = f.Nodes
		}
	}
	if diff := cmp.Diff(map[string]int{"team": 3, "big": 5}, most); diff != "" {
		t.Errorf("what vet says: -want +got:\n%s", diff)
	}
	return most
}

// expectMost: a job of the most nodes runs when it is alone, and one node more never does.
func (s *sandbox) expectMost(t *testing.T, queue string, most int) {
	whole, over := queued("whole", "openmpi", queue, most, "1h"), queued("over", "openmpi", queue, most+1, "1h")
	s.submit(t, over)
	s.submit(t, whole)
	s.await(t, whole, func(job *trainer.TrainJob, running int) bool {
		return !ptr.Deref(job.Spec.Suspend, false) && running == most
	})
	s.await(t, over, waits)
	eventually(t, func() error {
		said := s.kubectl(t, "", "get", "workloads", "-o", "jsonpath={.items[*].status.conditions[?(@.type=='QuotaReserved')].message}")
		if !strings.Contains(said, "maximum capacity") {
			return fmt.Errorf("Kueue says of the larger job: %s", said)
		}
		return nil
	})
	s.kubectl(t, "", "delete", "trainjob", whole.Name, over.Name)
}

// expectNearness: all pods of a job whose runtime asks for it share the machine.
func (s *sandbox) expectNearness(t *testing.T) {
	job := queued("near", "near", "near", hosts, "1h")
	s.submit(t, job)
	s.await(t, job, runs)
	nodes := strings.Fields(s.kubectl(t, "", "get", "pods", "-l", "jobset.sigs.k8s.io/jobset-name=near", "-o", "jsonpath={.items[*].spec.nodeName}"))
	slices.Sort(nodes)
	if len(nodes) != hosts || len(slices.Compact(nodes)) != 1 {
		t.Errorf("pods run on %v, want one machine for all %d", nodes, hosts)
	}
	s.kubectl(t, "", "delete", "trainjob", job.Name)
}

func (s *sandbox) expectTurns(t *testing.T) {
	first, second := queued("first", "openmpi", "team", hosts, "1h"), queued("second", "openmpi", "team", hosts, "1s")
	s.submit(t, first)
	s.await(t, first, runs)
	s.submit(t, second)
	s.await(t, second, waits)
	s.await(t, first, runs)
	s.kubectl(t, "", "delete", "trainjob", first.Name)
	s.await(t, second, func(job *trainer.TrainJob, running int) bool {
		return meta.IsStatusConditionTrue(job.Status.Conditions, trainer.TrainJobComplete) && running == 0
	})
}

func queued(name, runtime, queue string, nodes int, duration string) *trainer.TrainJob {
	return build.MakeTrainJob(name, "default").Runtime(runtime).Nodes(int32(nodes)).Label("kueue.x-k8s.io/queue-name", queue).
		Command("mpirun", "hostname").Env(upstream.SimulatedDuration, duration).Obj()
}

func runs(job *trainer.TrainJob, running int) bool {
	return !ptr.Deref(job.Spec.Suspend, false) && running == hosts
}

func waits(job *trainer.TrainJob, running int) bool {
	return ptr.Deref(job.Spec.Suspend, false) && running == 0 &&
		meta.IsStatusConditionTrue(job.Status.Conditions, trainer.TrainJobSuspended)
}
