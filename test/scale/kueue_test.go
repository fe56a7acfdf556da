//go:build linux

package scale

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/api/jobs"
	"github.com/trainyard/trainyard/api/metrics"
	"github.com/trainyard/trainyard/generator/capacity"
	"github.com/trainyard/trainyard/test/build"
	"github.com/trainyard/trainyard/test/cluster"
	"github.com/trainyard/trainyard/test/jobreport"
	"github.com/trainyard/trainyard/test/poll"
	"github.com/trainyard/trainyard/test/upstream"
)

// hostCount is the number of cluster nodes, and the number of pods of most jobs in these tests. The
// queue "team" must borrow quota to admit a job with hostCount pods, and cannot admit two of these jobs
// at the same time.
const hostCount = 3

// TestJobsWaitForQuota checks how TrainJobs wait for quota in Kueue. One of the checks uses the maximum number of nodes
// that `trainyard vet` reports for each queue. This number includes nodes for which the queue can borrow quota. The
// queues "team" and "big" must admit a TrainJob with this number of nodes, but no larger TrainJob.
func TestJobsWaitForQuota(t *testing.T) {
	if os.Getenv("TRAINYARD_KUEUE") == "" {
		t.Skip("needs Kueue and a cluster of simulated nodes: run `make kueue`")
	}
	for version, documents := range map[string][]string{
		"trainer-2.3": {"platform.yaml", "kueue.yaml"},
		"trainer-2.1": {"platform.yaml", "kueue.yaml", "kueue-trainer-2.1.yaml"},
	} {
		t.Run(version, func(t *testing.T) {
			s := startSandbox(t, cluster.Options{Nodes: hostCount, Trainer: version, Kueue: true}, documents...)
			s.expectNoDrift(t, documents)
			t.Run("the second of two jobs waits until the first is deleted", s.expectTurns)
			t.Run("jobs of several users wait in their order", s.expectPositions)
			t.Run("a job without room is suspended after the timeout of its runtime", s.expectTimeout)
			for queue, most := range maxNodes(t, documents) {
				t.Run("the queue admits as many nodes as vet reports: "+queue, func(t *testing.T) { s.expectMaxNodes(t, queue, most) })
			}
			t.Run("a quota as large as the queue refuses no pod of an admitted job", s.expectNoRefusal)
			t.Run("pods of a job with a required topology share a node", s.expectSameNode)
			// Old clients request the older API version v1beta1, so Kueue must convert the LocalQueue to v1beta1.
			if diff := cmp.Diff("team", s.runKubectl(t, "", "get", "localqueues.v1beta1.kueue.x-k8s.io", "team", "-o", "jsonpath={.spec.clusterQueue}")); diff != "" {
				t.Errorf("the ClusterQueue of the LocalQueue in v1beta1: -want +got:\n%s", diff)
			}
		})
	}
}

// expectNoDrift checks that Kueue's webhooks and controllers do not change the applied objects.
func (s *sandbox) expectNoDrift(t *testing.T, documents []string) {
	t.Helper()
	s.runKubectl(t, generateOutput(t, documents), "diff", "--server-side", "-f", "-") // exits with 1 if there is a difference
}

func maxNodes(t *testing.T, documents []string) map[string]int {
	t.Helper()
	var fits []capacity.Record
	if err := json.Unmarshal([]byte(runTrainyard(t, []string{"vet", "--fit", "-o", "json"}, documents)), &fits); err != nil {
		t.Fatal(err)
	}
	most := map[string]int{}
	for _, f := range fits {
		if f.Tenant == "default" && f.Runtime == "openmpi" && f.Queue != "near" {
			most[f.Queue] = f.Nodes
		}
	}
	if diff := cmp.Diff(map[string]int{"team": 3, "big": 5}, most); diff != "" {
		t.Errorf("maximum nodes of queues: -want +got:\n%s", diff)
	}
	return most
}

// expectMaxNodes checks that a job with the maximum number of nodes runs, and that a job with one more node waits.
func (s *sandbox) expectMaxNodes(t *testing.T, queue string, most int) {
	largest, over := queued("largest", "openmpi", queue, most, "1h"), queued("over", "openmpi", queue, most+1, "1h")
	s.submit(t, over)
	s.submit(t, largest)
	s.await(t, largest, func(job *trainer.TrainJob, running int) bool {
		return !ptr.Deref(job.Spec.Suspend, false) && running == most
	})
	s.await(t, over, waits)
	poll.Until(t, waitTimeout, func(context.Context) error {
		message := s.runKubectl(t, "", "get", "workloads", "-o", "jsonpath={.items[*].status.conditions[?(@.type=='QuotaReserved')].message}")
		if !strings.Contains(message, "maximum capacity") {
			return fmt.Errorf("Kueue's message about the larger job is %s, want maximum capacity", message)
		}
		return nil
	})
	s.runKubectl(t, "", "delete", "trainjob", largest.Name, over.Name)
}

func (s *sandbox) expectSameNode(t *testing.T) {
	job := queued("near", "near", "near", hostCount, "1h")
	s.submit(t, job)
	s.await(t, job, runs)
	nodes := strings.Fields(s.runKubectl(t, "", "get", "pods", "-l", "jobset.sigs.k8s.io/jobset-name=near", "-o", "jsonpath={.items[*].spec.nodeName}"))
	slices.Sort(nodes)
	if len(nodes) != hostCount || len(slices.Compact(nodes)) != 1 {
		t.Errorf("pods run on %v, want one cluster node for all %d", nodes, hostCount)
	}
	s.runKubectl(t, "", "delete", "trainjob", job.Name)
}

func (s *sandbox) expectTurns(t *testing.T) {
	first, second := queued("first", "openmpi", "team", hostCount, "1h"), queued("second", "openmpi", "team", hostCount, "1s")
	s.submit(t, first)
	s.await(t, first, runs)
	s.submit(t, second)
	s.await(t, second, waits)
	s.await(t, first, runs)
	s.runKubectl(t, "", "delete", "trainjob", first.Name)
	s.await(t, second, func(job *trainer.TrainJob, running int) bool {
		return meta.IsStatusConditionTrue(job.Status.Conditions, trainer.TrainJobComplete) && running == 0
	})
}

// expectPositions submits several jobs to a queue whose quota is enough for only one job. The annotations and the metrics
// of trainyard's controller must show the position of each waiting job. The only event about a waiting job must be
// JobSubmitted.
func (s *sandbox) expectPositions(t *testing.T) {
	s.startController(t)
	running := queued("running", "openmpi", "team", hostCount, "1h")
	s.submit(t, running)
	s.await(t, running, runs)
	names := []string{"next", "later", "last"}
	for i, name := range names {
		time.Sleep(time.Second) // the creation time has whole seconds, and Kueue orders jobs of the same second by their random UIDs
		s.submit(t, queued(name, "openmpi", "team", hostCount, "1h"))
		ahead := fmt.Sprintf("Waiting in queue team; %d job", i)
		poll.Until(t, waitTimeout, func(ctx context.Context) error {
			key := client.ObjectKey{Namespace: "default", Name: name}
			return errors.Join(
				jobreport.CheckAnnotations(ctx, s.client, key, jobs.Suspended, ahead),
				jobreport.CheckReasons(ctx, s.client, key, "JobSubmitted"),
				jobreport.CheckValue(metrics.TrainJobQueuePosition, map[string]string{metrics.LabelTrainJob: name, metrics.LabelQueue: "team"}, float64(i)),
			)
		})
	}
	s.runKubectl(t, "", "delete", "trainjob", "next")
	poll.Until(t, waitTimeout, func(ctx context.Context) error {
		return jobreport.CheckAnnotations(ctx, s.client, client.ObjectKey{Namespace: "default", Name: "last"}, jobs.Suspended, "1 job ahead")
	})
	s.runKubectl(t, "", "delete", "trainjob", "running", "later", "last")
}

func (s *sandbox) startController(t *testing.T) {
	t.Helper()
	stop, err := jobreport.Start(cluster.Kubeconfig(s.dir))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// expectTimeout submits a job that Kueue admits, but whose pods fit on no cluster node. After the timeout of the runtime,
// the job must be suspended, and Kueue must not resume the job.
func (s *sandbox) expectTimeout(t *testing.T) {
	s.startController(t)
	job := queued("late", "late", "team", 2, "1h")
	s.submit(t, job)
	key := client.ObjectKeyFromObject(job)
	expect := func() {
		poll.Until(t, waitTimeout, func(ctx context.Context) error {
			return errors.Join(
				jobreport.CheckAnnotations(ctx, s.client, key, jobs.Suspended, "Suspended, because its pods were not scheduled within 15s."),
				jobreport.CheckReasons(ctx, s.client, key, "JobSubmitted", "GangSchedulingStarted", "GangSchedulingTimeout"),
			)
		})
	}
	expect()
	time.Sleep(10 * time.Second)
	expect()
	s.runKubectl(t, "", "delete", "trainjob", "late")
}

// expectNoRefusal submits a job whose requests use up the quota of its queue and the ResourceQuota of its namespace.
// The job's limits are larger than its requests, but the ResourceQuota sets no maximum for limits. Kubernetes must
// therefore create all pods of the job. The test also submits a second job, which must wait in Kueue without pods.
func (s *sandbox) expectNoRefusal(t *testing.T) {
	first, second := queued("first", "openmpi", "default", hostCount, "1h"), queued("second", "openmpi", "default", hostCount, "1s")
	for _, job := range []*trainer.TrainJob{first, second} {
		job.Namespace = "bounded"
		job.Spec.Trainer.ResourcesPerNode = &corev1.ResourceRequirements{
			Requests: corev1.ResourceList{"cpu": resource.MustParse("2"), "memory": resource.MustParse("4Gi")},
			Limits:   corev1.ResourceList{"cpu": resource.MustParse("3"), "memory": resource.MustParse("6Gi")},
		}
	}
	s.submit(t, first)
	s.await(t, first, runs)
	s.submit(t, second)
	s.await(t, second, waits)
	used := s.runKubectl(t, "", "get", "resourcequota", "trainyard", "-n", "bounded", "-o", "jsonpath={.status.used.requests\\.cpu} {.status.used.requests\\.memory} {.status.used.pods}")
	if diff := cmp.Diff("6 12Gi 3", used); diff != "" {
		t.Errorf("used quota: -want +got:\n%s", diff)
	}
	s.runKubectl(t, "", "delete", "trainjob", "-n", "bounded", first.Name)
	s.await(t, second, func(job *trainer.TrainJob, running int) bool {
		return meta.IsStatusConditionTrue(job.Status.Conditions, trainer.TrainJobComplete) && running == 0
	})
}

func queued(name, runtime, queue string, nodes int, duration string) *trainer.TrainJob {
	return build.MakeTrainJob(name, "default").Runtime(runtime).Nodes(int32(nodes)).Label("kueue.x-k8s.io/queue-name", queue).
		Command("mpirun", "hostname").Env(upstream.SimulatedDuration, duration).Obj()
}

func runs(job *trainer.TrainJob, running int) bool {
	return !ptr.Deref(job.Spec.Suspend, false) && running == hostCount
}

func waits(job *trainer.TrainJob, running int) bool {
	return ptr.Deref(job.Spec.Suspend, false) && running == 0 &&
		meta.IsStatusConditionTrue(job.Status.Conditions, trainer.TrainJobSuspended)
}
