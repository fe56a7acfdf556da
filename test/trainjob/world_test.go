package trainjob

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainyard/trainyard/api/jobs"
	"github.com/trainyard/trainyard/controller"
	"github.com/trainyard/trainyard/test/controlplane"
	"github.com/trainyard/trainyard/test/jobreport"
	"github.com/trainyard/trainyard/test/repo"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(controlplane.Main(m))
}

// runtimeName is the name of the runtime in examples/minimal.
const runtimeName = "mpi-openmpi-cpu"

// world is a control plane, and a namespace in which the controller observes TrainJobs.
type world struct {
	*testing.T
	cp        *controlplane.ControlPlane
	namespace string
	writes    requestLog // requests of the controller that change objects
	stop      func()
}

type requestLog struct {
	mu   sync.Mutex
	list []string
}

func (l *requestLog) add(r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, r.Method+" "+r.URL.Path)
}

func (l *requestLog) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.list)
}

func newWorld(t *testing.T, change func(*controller.Options)) *world {
	t.Helper()
	cp := controlplane.Start(t)
	objects, err := controlplane.ReadObjects(repo.Path(t) + "/bundles/rendered/minimal/plain/manifests.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := cp.Apply(t.Context(), objects...); err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, cp: cp, namespace: cp.Namespace(t)}
	w.start(change)
	return w
}

type tripper func(*http.Request) (*http.Response, error)

func (t tripper) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// start starts the controller, which runs until w.stop is called or the test ends.
func (w *world) start(change func(*controller.Options)) {
	w.Helper()
	config := w.cp.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return tripper(func(r *http.Request) (*http.Response, error) {
			if r.Method != http.MethodGet {
				w.writes.add(r)
			}
			return next.RoundTrip(r)
		})
	})
	o := controller.Options{Controllers: controller.Names(), Workers: 2, QPS: 200, Burst: 400, Log: logr.Discard()}
	if change != nil {
		change(&o)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- controller.Run(ctx, config, o) }()
	w.stop = func() {
		cancel()
		if err := <-done; err != nil {
			w.Errorf("the controller failed: %v", err)
		}
		done <- nil
	}
	w.Cleanup(func() { w.stop() })
}

func (w *world) submit(name string) {
	w.Helper()
	w.submitTo(name, runtimeName)
}

// createPods creates three pods for the given job: one pod with the role "launcher", and two pods with the role "node".
// According to the status of the pods, no cluster node has room for them.
func (w *world) createPods(job string) {
	w.Helper()
	for _, p := range []struct {
		role  string
		index int
	}{{"launcher", 0}, {"node", 0}, {"node", 1}} {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: w.namespace, Name: fmt.Sprintf("%s-%s-0-%d-abcde", job, p.role, p.index),
				Labels:      map[string]string{jobs.JobSetLabel: job, "jobset.sigs.k8s.io/replicatedjob-name": p.role},
				Annotations: map[string]string{"batch.kubernetes.io/job-completion-index": fmt.Sprint(p.index)},
			},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: jobs.MainContainer, Image: "localhost/none"}}},
		}
		if err := w.cp.Client().Create(w.Context(), pod); err != nil {
			w.Fatal(err)
		}
		pod.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable",
			Message: "0/6 nodes are available: 6 Insufficient nvidia.com/gpu.", LastTransitionTime: metav1.Now(),
		}}
		w.update(pod)
	}
}

func (w *world) update(pod *corev1.Pod) {
	w.Helper()
	if err := w.cp.Client().Status().Update(w.Context(), pod); err != nil {
		w.Fatal(err)
	}
}

func (w *world) eachPod(job string, change func(*corev1.Pod)) {
	w.Helper()
	pods := &corev1.PodList{}
	if err := w.cp.Client().List(w.Context(), pods, client.InNamespace(w.namespace), client.MatchingLabels{jobs.JobSetLabel: job}); err != nil {
		w.Fatal(err)
	}
	for i := range pods.Items {
		change(&pods.Items[i])
		w.update(&pods.Items[i])
	}
}

func (w *world) schedule(job string) {
	w.Helper()
	pods := &corev1.PodList{}
	if err := w.cp.Client().List(w.Context(), pods, client.InNamespace(w.namespace), client.MatchingLabels{jobs.JobSetLabel: job}); err != nil {
		w.Fatal(err)
	}
	for _, pod := range pods.Items {
		w.scheduleOne(pod.Name)
	}
}

func (w *world) scheduleOne(name string) {
	w.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	binding := &corev1.Binding{ObjectMeta: pod.ObjectMeta, Target: corev1.ObjectReference{Kind: "Node", Name: "here"}}
	if err := w.cp.Client().SubResource("binding").Create(w.Context(), pod, binding); err != nil {
		w.Fatal(err)
	}
}

// run sets the status of all pods of a TrainJob to running and ready.
func (w *world) run(job string) {
	w.Helper()
	w.eachPod(job, func(pod *corev1.Pod) {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue})
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: jobs.MainContainer, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}},
		}}
	})
}

// end sets the final status of the launcher's pod, and the final condition of the JobSet. Trainer copies this condition
// to the TrainJob.
func (w *world) end(job string, code int32, left string) {
	w.Helper()
	w.eachPod(job, func(pod *corev1.Pod) {
		if pod.Labels["jobset.sigs.k8s.io/replicatedjob-name"] == "launcher" {
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: jobs.MainContainer, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				ExitCode: code, Message: left, StartedAt: metav1.Now(), FinishedAt: metav1.Now(), Reason: map[bool]string{true: "Completed", false: "Error"}[code == 0],
			}}}}
		}
	})
	as := jobset.JobSetCompleted
	if code != 0 {
		as = jobset.JobSetFailed
	}
	set := &jobset.JobSet{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: job}}
	patch := fmt.Sprintf(`{"status":{"conditions":[{"type":%q,"status":"True","reason":"Played","message":"as played","lastTransitionTime":%q}]}}`, as, time.Now().UTC().Format(time.RFC3339))
	controlplane.Eventually(w, func(ctx context.Context) error {
		return w.cp.Client().Status().Patch(ctx, set, client.RawPatch(types.MergePatchType, []byte(patch)))
	})
}

// deleteNodes deletes the pods of a TrainJob except the launcher's pod, as JobSet does after the TrainJob has ended.
func (w *world) deleteNodes(job string) {
	w.Helper()
	nodes := client.MatchingLabels{jobs.JobSetLabel: job, "jobset.sigs.k8s.io/replicatedjob-name": "node"}
	if err := w.cp.Client().DeleteAllOf(w.Context(), &corev1.Pod{}, client.InNamespace(w.namespace), nodes, client.GracePeriodSeconds(0)); err != nil {
		w.Fatal(err)
	}
}

func (w *world) expect(job string, phase jobs.Phase, text string) {
	w.Helper()
	controlplane.Eventually(w, func(ctx context.Context) error {
		return jobreport.CheckAnnotations(ctx, w.cp.Client(), client.ObjectKey{Namespace: w.namespace, Name: job}, phase, text)
	})
}
