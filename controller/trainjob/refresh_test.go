package trainjob

import (
	"container/heap"
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/api/jobs"
)

type dueJob struct {
	key types.NamespacedName
	at  time.Time
}

// agenda is a heap of the TrainJobs that must be reconciled. The TrainJob that is due next is at the top of the heap.
type agenda []dueJob

func (a agenda) Len() int           { return len(a) }
func (a agenda) Less(i, j int) bool { return a[i].at.Before(a[j].at) }
func (a agenda) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(x any)        { *a = append(*a, x.(dueJob)) }
func (a *agenda) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return last
}

// memoryClient is a fake client that holds TrainJobs and their pods in memory. The test cannot use an API server,
// because an API server would not follow the simulated clock. The only supported change is Patch, which merges a
// patch into a TrainJob.
type memoryClient struct {
	client.WithWatch
	jobs map[types.NamespacedName]*trainer.TrainJob
	pods map[string]corev1.Pod // by the name of the TrainJob
}

func (m memoryClient) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	job, ok := into.(*trainer.TrainJob)
	if !ok || m.jobs[key] == nil {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	m.jobs[key].DeepCopyInto(job)
	return nil
}

func (m memoryClient) List(_ context.Context, into client.ObjectList, options ...client.ListOption) error {
	all := client.ListOptions{}
	all.ApplyOptions(options)
	if pods, ok := into.(*corev1.PodList); ok {
		name, _ := all.FieldSelector.RequiresExactMatch(podsOfJobSet)
		pods.Items = []corev1.Pod{m.pods[name]}
	}
	return nil
}

func (m memoryClient) Patch(_ context.Context, object client.Object, patch client.Patch, _ ...client.PatchOption) error {
	text, err := patch.Data(object)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, m.jobs[client.ObjectKeyFromObject(object)])
}

func waitingJobs(count int) memoryClient {
	m := memoryClient{jobs: map[types.NamespacedName]*trainer.TrainJob{}, pods: map[string]corev1.Pod{}}
	for i := range count {
		name := fmt.Sprintf("job-%04d", i)
		m.jobs[types.NamespacedName{Namespace: "team", Name: name}] = &trainer.TrainJob{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(start)},
		}
		m.pods[name] = corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "team", Name: name + "-launcher-0-0", CreationTimestamp: metav1.NewTime(start),
				Labels: map[string]string{jobs.JobSetLabel: name, "jobset.sigs.k8s.io/replicatedjob-name": "launcher"},
			},
			Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/6 nodes are available"}}},
		}
	}
	return m
}

// TestMessagesOfWaitingJobsAreFresh checks that the messages of 1,000 waiting TrainJobs never become older than 30 seconds
// during five minutes of simulated time. The simulated clock also advances by the real time that each reconciliation takes.
func TestMessagesOfWaitingJobsAreFresh(t *testing.T) {
	const count, maxAge = 1000, 30 * time.Second
	reader := waitingJobs(count)
	now := start.Add(time.Minute)
	clock := func() time.Time { return now }
	c := &Controller{
		Client: reader, Live: reader, Events: events.NewFakeRecorder(10 * count), Metrics: NewMetrics(clock), Now: clock,
		explanations: newExplanations(nil, clock),
	}
	due, observed := &agenda{}, map[types.NamespacedName]time.Time{}
	for key := range reader.jobs {
		heap.Push(due, dueJob{key, now})
	}
	end := now.Add(5 * time.Minute)
	for now.Before(end) {
		next := heap.Pop(due).(dueJob)
		if next.at.After(now) {
			now = next.at
		}
		began := time.Now()
		result, err := c.Reconcile(context.Background(), ctrl.Request{NamespacedName: next.key})
		if err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Since(began))
		if last, ok := observed[next.key]; ok && now.Sub(last) > maxAge {
			t.Fatalf("the message of %s is %s old, want at most %s", next.key.Name, now.Sub(last), maxAge)
		}
		observed[next.key] = now
		if result.RequeueAfter == 0 {
			t.Fatalf("%s is not reconciled again", next.key.Name)
		}
		heap.Push(due, dueJob{next.key, now.Add(result.RequeueAfter)})
	}
	if len(observed) != count {
		t.Errorf("%d TrainJobs were observed, want %d", len(observed), count)
	}
}
