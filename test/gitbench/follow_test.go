package gitbench

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainyard/trainyard/api/jobs"
	"github.com/trainyard/trainyard/api/v1alpha1"
)

const (
	podsOfJob       = 10  // the number of pods of each TrainJob
	creators        = 16  // the number of concurrent requests that create objects
	changesInSecond = 20  // the number of TrainJobs that end in each second
	changeCount     = 500 // the number of TrainJobs that end
)

// jobCounts lists how many TrainJobs exist at each measurement. In each measurement, the benchmark measures the
// controller's memory, CPU time and requests.
var jobCounts = []int{1000, 2000, 4000}

type followed struct {
	jobs   int
	steady usage // in settleTime, in which nothing changes
}

// BenchmarkFollowTrainJobs measures trainyard-controller with thousands of running TrainJobs. The pods of the TrainJobs
// exist only as objects in the API server. At the end, the benchmark completes 20 TrainJobs per second, and measures
// the time until the annotations of each completed TrainJob contain the new phase. If GITBENCH_DOCS names a Markdown
// file, the benchmark replaces the results in this file.
func BenchmarkFollowTrainJobs(b *testing.B) {
	c := newCluster(b)
	c.installJobSetCRD(b)
	programs := startTrainyard(b, c)
	defer stop(b, programs)
	var results []followed
	for i, count := range jobCounts {
		progress("creating %d TrainJobs with %d pods each", count, podsOfJob)
		c.createRunning(b, slices.Concat([]int{0}, jobCounts)[i], count)
		c.awaitPhase(b, jobs.Running, count)
		time.Sleep(settleTime)
		before := readUsage(b, programs)
		time.Sleep(settleTime)
		results = append(results, followed{count, readUsage(b, programs).since(before)})
	}
	progress("ending %d TrainJobs, %d in each second", changeCount, changesInSecond)
	text := followedMarkdown(results, c.measureChanges(b))
	fmt.Fprint(os.Stderr, text)
	if docs := os.Getenv("GITBENCH_DOCS"); docs != "" {
		if err := updateDocs(docs, "Following", text); err != nil {
			b.Fatal(err)
		}
	}
}

func jobKey(i int) client.ObjectKey {
	return client.ObjectKey{Namespace: namespace(i % maxNamespaces), Name: fmt.Sprintf("job-%05d", i)}
}

// createRunning creates a TrainJob for each number i in the range first <= i < end. For each TrainJob, createRunning
// also creates pods with the phase Running.
func (c *cluster) createRunning(t testing.TB, first, end int) {
	t.Helper()
	numbers := make(chan int)
	var workers sync.WaitGroup
	for range creators {
		workers.Go(func() {
			for i := range numbers {
				if err := c.createJob(t.Context(), jobKey(i)); err != nil {
					t.Errorf("creating a TrainJob: %v", err)
				}
			}
		})
	}
	for i := first; i < end; i++ {
		numbers <- i
	}
	close(numbers)
	workers.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

func (c *cluster) createJob(ctx context.Context, key client.ObjectKey) error {
	job := &trainer.TrainJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		Spec:       trainer.TrainJobSpec{RuntimeRef: trainer.RuntimeRef{Name: "mpi"}, Trainer: &trainer.Trainer{NumNodes: new(int32(podsOfJob))}},
	}
	for _, object := range []client.Object{job, makeJobSet(key)} {
		if err := c.client.Create(ctx, object); err != nil {
			return err
		}
	}
	for i := range podsOfJob {
		role, index := jobs.Node, i-1
		if i == 0 {
			role, index = jobs.Launcher, 0
		}
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: key.Namespace, Name: fmt.Sprintf("%s-%s-0-%d", key.Name, role, index),
				Labels: map[string]string{
					jobs.JobSetLabel: key.Name, "jobset.sigs.k8s.io/replicatedjob-name": string(role), v1alpha1.RoleLabel: string(role),
				},
				Annotations: map[string]string{"batch.kubernetes.io/job-completion-index": fmt.Sprint(index)},
			},
			Spec: podSpec(),
		}
		pod.Spec.NodeName = "here"
		if err := c.client.Create(ctx, pod); err != nil {
			return err
		}
		pod.Status = corev1.PodStatus{
			Phase: corev1.PodRunning,
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()},
				{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()},
			},
			ContainerStatuses: []corev1.ContainerStatus{{
				Name: jobs.MainContainer, Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}},
			}},
		}
		if err := c.client.Status().Update(ctx, pod); err != nil {
			return err
		}
	}
	return nil
}

func makeJobSet(key client.ObjectKey) *jobset.JobSet {
	replicated := func(role jobs.Role, pods int32) jobset.ReplicatedJob {
		spec := batchv1.JobSpec{Parallelism: &pods, Completions: &pods, Template: corev1.PodTemplateSpec{Spec: podSpec()}}
		return jobset.ReplicatedJob{Name: string(role), Replicas: 1, Template: batchv1.JobTemplateSpec{Spec: spec}}
	}
	return &jobset.JobSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		Spec:       jobset.JobSetSpec{ReplicatedJobs: []jobset.ReplicatedJob{replicated(jobs.Launcher, 1), replicated(jobs.Node, podsOfJob-1)}},
	}
}

// podSpec returns the spec of a pod that the Pod Security level of tenants allows.
func podSpec() corev1.PodSpec {
	return corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		Containers: []corev1.Container{{
			Name: jobs.MainContainer, Image: "quay.io/acme/mpi:1",
			SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			},
		}},
	}
}

// awaitPhase counts the TrainJobs whose annotations contain the given phase. The method returns when this number equals
// the argument "want".
func (c *cluster) awaitPhase(t testing.TB, phase jobs.Phase, want int) {
	t.Helper()
	for deadline := time.Now().Add(applyTimeout); ; time.Sleep(time.Second) {
		list := newTrainJobs()
		if err := c.client.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, job := range list.Items {
			if job.Annotations[v1alpha1.PhaseAnnotation] == string(phase) {
				found++
			}
		}
		if found == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d TrainJobs have the phase %s, want %d", found, phase, want)
		}
	}
}

// measureChanges completes TrainJobs, and returns for each of them the time until its annotations contain the
// phase Succeeded.
func (c *cluster) measureChanges(t testing.TB) []time.Duration {
	t.Helper()
	watching, err := client.NewWithWatch(c.cp.Config(), client.Options{Scheme: c.client.Scheme(), Mapper: c.client.RESTMapper()})
	if err != nil {
		t.Fatal(err)
	}
	events, err := watching.Watch(t.Context(), newTrainJobs())
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	ended := make(chan map[types.NamespacedName]time.Time, 1)
	go func() { ended <- c.endJobs(t) }()
	seen := map[types.NamespacedName]time.Time{}
	for timeout := time.After(changeCount/changesInSecond*time.Second + time.Minute); len(seen) < changeCount; {
		select {
		case event, open := <-events.ResultChan():
			if !open {
				t.Fatal("the API server ended the watch")
			}
			if job, ok := event.Object.(*metav1.PartialObjectMetadata); ok && event.Type == watch.Modified && job.Annotations[v1alpha1.PhaseAnnotation] == string(jobs.Succeeded) {
				if key := client.ObjectKeyFromObject(job); seen[key].IsZero() {
					seen[key] = time.Now()
				}
			}
		case <-timeout:
			t.Fatalf("%d TrainJobs have the phase Succeeded, want %d", len(seen), changeCount)
		}
	}
	var times []time.Duration
	for key, at := range <-ended {
		times = append(times, seen[key].Sub(at))
	}
	return times
}

// endJobs sets the condition Complete of TrainJobs at a constant rate, and returns the times at which the API server
// accepted the changes.
func (c *cluster) endJobs(t testing.TB) map[types.NamespacedName]time.Time {
	ended := map[types.NamespacedName]time.Time{}
	for i, tick := 0, time.NewTicker(time.Second/changesInSecond); i < changeCount; i++ {
		<-tick.C
		key := jobKey(i * 7) // spreads the TrainJobs over all namespaces
		patch := fmt.Sprintf(`{"status":{"conditions":[{"type":%q,"status":"True","reason":"Played","message":"","lastTransitionTime":%q}]}}`, trainer.TrainJobComplete, time.Now().UTC().Format(time.RFC3339))
		job := &trainer.TrainJob{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
		if err := c.client.Status().Patch(t.Context(), job, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
			if t.Context().Err() == nil { // the test has not ended
				t.Errorf("ending a TrainJob: %v", err)
			}
			return ended
		}
		ended[key] = time.Now()
	}
	return ended
}

func followedMarkdown(results []followed, times []time.Duration) string {
	var text strings.Builder
	fmt.Fprintf(&text, "\n%s.\n\n", measuredOn())
	writeRow(&text, []string{"TrainJobs", "pods", "memory", "CPU per minute", "requests per minute", "writes per minute"})
	writeRow(&text, slices.Repeat([]string{"---"}, 6))
	for _, r := range results {
		writeRow(&text, []string{
			fmt.Sprint(r.jobs), fmt.Sprint(r.jobs * podsOfJob), megabytes(r.steady.memory),
			fmt.Sprintf("%.2f s", r.steady.cpu/settleTime.Minutes()), fmt.Sprintf("%.0f", r.steady.requests/settleTime.Minutes()),
			fmt.Sprintf("%.0f", r.steady.writes/settleTime.Minutes()),
		})
	}
	slices.Sort(times)
	fmt.Fprintf(&text, "\nIn another measurement, %d of %d TrainJobs ended, at a rate of %d per second. The measured time is the time from the end of a TrainJob until its annotation contains the new phase. The median of this time was %s, and the 99th percentile was %s.\n\n",
		len(times), jobCounts[len(jobCounts)-1], changesInSecond, seconds(times[len(times)/2]), seconds(times[len(times)*99/100]))
	return text.String()
}
