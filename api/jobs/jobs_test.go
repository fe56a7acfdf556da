package jobs_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/api/jobs"
	"github.com/trainyard/trainyard/test/build"
	"github.com/trainyard/trainyard/test/controlplane"
)

func TestMain(m *testing.M) { os.Exit(controlplane.Main(m)) }

// connect connects to a real API server as a user, or as the administrator if the name of the user is empty.
func connect(t *testing.T, cp *controlplane.ControlPlane, as string) jobs.Jobs {
	t.Helper()
	config := cp.Config()
	if as != "" {
		config.Impersonate = rest.ImpersonationConfig{UserName: as}
	}
	all, err := jobs.Connect(config)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func deliver(t *testing.T, cp *controlplane.ControlPlane) {
	t.Helper()
	objects, err := controlplane.ReadObjects("../../bundles/rendered/minimal/plain/manifests.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := cp.Apply(t.Context(), objects...); err != nil {
		t.Fatal(err)
	}
}

// deliverOwn creates two TrainingRuntimes in a namespace. The function "deliver" must already have created a
// ClusterTrainingRuntime with the name runtimeName. The first TrainingRuntime gets the same name, so the name is
// ambiguous.
func deliverOwn(t *testing.T, cp *controlplane.ControlPlane, namespace string) {
	t.Helper()
	var shared trainer.ClusterTrainingRuntime
	if err := cp.Client().Get(t.Context(), client.ObjectKey{Name: runtimeName}, &shared); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{runtimeName, "mpi-own"} {
		own := &trainer.TrainingRuntime{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: shared.Spec}
		if err := cp.Client().Create(t.Context(), own); err != nil {
			t.Fatal(err)
		}
	}
}

// runtimeName is the name of the runtime in examples/minimal.
const runtimeName = "mpi-openmpi-cpu"

func TestRuntimeByName(t *testing.T) {
	cp := controlplane.Start(t)
	namespace, other := cp.Namespace(t), cp.Namespace(t)
	deliver(t, cp)
	deliverOwn(t, cp, namespace)
	all := connect(t, cp, "")
	for name, tc := range map[string]struct{ namespace, name, want string }{
		"the cluster's":            {other, runtimeName, "ClusterTrainingRuntime " + runtimeName},
		"the namespace's":          {namespace, "mpi-own", "TrainingRuntime mpi-own"},
		"qualified, of both kinds": {namespace, "trainingruntime/" + runtimeName, "TrainingRuntime " + runtimeName},
		"qualified, in capitals":   {namespace, "ClusterTrainingRuntime/" + runtimeName, "ClusterTrainingRuntime " + runtimeName},
		"both":                     {namespace, runtimeName, "both a ClusterTrainingRuntime and a TrainingRuntime are named"},
		"unknown":                  {namespace, "mpi-owm", `the cluster and namespace ` + namespace + ` have the runtimes mpi-openmpi-cpu, mpi-own`},
		"another namespace's":      {other, "mpi-own", `there is no runtime "mpi-own"`},
		"an unknown kind":          {namespace, "runtime/mpi-own", `there is no runtime "runtime/mpi-own"`},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := all.Runtime(t.Context(), tc.namespace, tc.name)
			got := found.String()
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, tc.want) {
				t.Errorf("Runtime(%q) = %s, want %s", tc.name, got, tc.want)
			}
		})
	}
}

func TestForbiddenRuntimes(t *testing.T) {
	cp := controlplane.Start(t)
	all := connect(t, cp, "stranger")
	if _, err := all.Runtime(t.Context(), "default", runtimeName); !apierrors.IsForbidden(err) {
		t.Errorf("Runtime() = %v, want a Forbidden error", err)
	}
}

// TestHiddenRuntime: the user has the permission to list TrainingRuntimes, but lacks the permission to list
// ClusterTrainingRuntimes. If no TrainingRuntime has the requested name, Runtime must return a Forbidden error, because
// a ClusterTrainingRuntime can have this name.
func TestHiddenRuntime(t *testing.T) {
	cp := controlplane.Start(t)
	namespace := cp.Namespace(t)
	deliver(t, cp)
	deliverOwn(t, cp, namespace)
	allow(t, cp, namespace, rbacv1.PolicyRule{Verbs: []string{"list"}, APIGroups: []string{trainer.GroupVersion.Group}, Resources: []string{"trainingruntimes"}})
	all := connect(t, cp, namespace)
	controlplane.Eventually(t, func(ctx context.Context) error {
		_, err := all.Runtime(ctx, namespace, "mpi-own")
		return err
	})
	if _, err := all.Runtime(t.Context(), namespace, "mpi-shared"); !apierrors.IsForbidden(err) {
		t.Errorf("Runtime() = %v, want a Forbidden error", err)
	}
}

// otherGroup simulates a cluster without Trainer's CRDs: it sends each request for Trainer's API group
// to a group that the API server does not serve.
type otherGroup struct{ http.RoundTripper }

func (t otherGroup) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Path = strings.Replace(r.URL.Path, trainer.GroupVersion.Group, "absent.example.org", 1)
	return t.RoundTripper.RoundTrip(r)
}

// TestClusterWithoutTrainer: if the cluster has no CRDs of Trainer, Runtime must return ErrNoTrainer.
func TestClusterWithoutTrainer(t *testing.T) {
	cp := controlplane.Start(t)
	config := cp.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return otherGroup{next} })
	bare, err := jobs.Connect(config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bare.Runtime(t.Context(), "default", runtimeName); !errors.Is(err, jobs.ErrNoTrainer) {
		t.Errorf("Runtime() = %v, want %v", err, jobs.ErrNoTrainer)
	}
}

// TestOrderOfPods: the order of pods in a Snapshot does not depend on the names or the creation times of the
// pods.
func TestOrderOfPods(t *testing.T) {
	cp := controlplane.Start(t)
	deliver(t, cp)
	namespace := cp.Namespace(t)
	all := connect(t, cp, "")
	job := build.MakeTrainJob("sum", namespace).Runtime(runtimeName).Suspended().Obj()
	submit(t, all, job)
	for name, of := range map[string][2]string{
		"a": {"node", "10"}, "b": {"node", "2"}, "c": {"launcher", "0"}, "d": {"dataset-initializer", ""},
	} {
		createPod(t, cp, namespace, name, of[0], of[1])
	}
	snapshot, err := all.Get(t.Context(), client.ObjectKeyFromObject(job))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, pod := range snapshot.Pods {
		got = append(got, pod.Name+" is "+pod.String())
	}
	want := []string{"c is launcher", "b is node 2", "a is node 10", "d is dataset-initializer"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// submit creates a TrainJob. If the request fails, the function submit repeats the request for a while. The reason is
// that the cache of Trainer's webhook may not yet contain a new runtime.
func submit(t *testing.T, all jobs.Jobs, job *trainer.TrainJob) {
	t.Helper()
	controlplane.Eventually(t, func(ctx context.Context) error { return all.Submit(ctx, job.DeepCopy()) })
}

func createPod(t *testing.T, cp *controlplane.ControlPlane, namespace, name, role, index string) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name,
			Labels:      map[string]string{"jobset.sigs.k8s.io/jobset-name": "sum", "jobset.sigs.k8s.io/replicatedjob-name": role},
			Annotations: map[string]string{"batch.kubernetes.io/job-completion-index": index},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: jobs.MainContainer, Image: "localhost/none"}}},
	}
	if err := cp.Client().Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	return pod
}

// TestVerdict: the verdict is read from the termination message of the launcher's preflight.
func TestVerdict(t *testing.T) {
	for name, tc := range map[string]struct {
		container, message string
		want               *jobs.Verdict
		fails              bool
	}{
		"a verdict": {
			"preflight", `{"hosts":2,"reached":1,"slots":4,"available":2,"ms":[520,null],"failed":[{"host":"sum-node-0-0","cause":"refused","detail":"Connection refused"}]}`,
			&jobs.Verdict{
				Hosts: 2, Reached: 1, Slots: 4, Available: 2, Milliseconds: []*int{new(520), nil},
				Failed: []jobs.HostFailure{{Host: "sum-node-0-0", Cause: "refused", Detail: "Connection refused"}},
			}, false,
		},
		"none yet":                    {"preflight", "", nil, false},
		"another container's message": {"identity", `{"hosts":1}`, nil, false},
		"a truncated verdict":         {"preflight", `{"hosts":2,"rea`, nil, true},
		"no JSON":                     {"preflight", "Killed", nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			ended := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: tc.message}}
			pod := corev1.Pod{Status: corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{{Name: tc.container, State: ended}}}}
			got, err := jobs.Snapshot{Pods: []jobs.Pod{{Role: jobs.Launcher, Pod: pod}}}.Verdict()
			if diff := cmp.Diff(tc.want, got); diff != "" || (err != nil) != tc.fails {
				t.Errorf("error %v, -want +got:\n%s", err, diff)
			}
		})
	}
}

// TestWatch: Watch must not report changes of other TrainJobs.
func TestWatch(t *testing.T) {
	cp := controlplane.Start(t)
	deliver(t, cp)
	all, namespace := connect(t, cp, ""), cp.Namespace(t)
	changes := jobs.Watch(all, t.Context(), types.NamespacedName{Namespace: namespace, Name: "watched"})
	expect := func(what string, want bool) {
		t.Helper()
		timeout := 10 * time.Second
		if !want {
			timeout = time.Second
		}
		select {
		case <-changes:
			if !want {
				t.Errorf("%s is reported", what)
			}
		case <-time.After(timeout):
			if want {
				t.Errorf("%s is not reported", what)
			}
		}
	}
	submit(t, all, build.MakeTrainJob("other", namespace).Runtime(runtimeName).Suspended().Obj())
	expect("another TrainJob", false)
	submit(t, all, build.MakeTrainJob("watched", namespace).Runtime(runtimeName).Suspended().Obj())
	expect("the TrainJob", true)
	for quiet := false; !quiet; { // wait until Trainer no longer changes the status of the TrainJob
		select {
		case <-changes:
		case <-time.After(2 * time.Second):
			quiet = true
		}
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "watched-node-0-0", Labels: map[string]string{jobs.JobSetLabel: "watched"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "node", Image: "localhost/none"}}},
	}
	if err := cp.Client().Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	expect("the pod", true)
}

// TestWait: if the context is cancelled, Wait returns the cause of the cancellation.
func TestWait(t *testing.T) {
	cp := controlplane.Start(t)
	deliver(t, cp)
	all := connect(t, cp, "")
	job := build.MakeTrainJob("wait", cp.Namespace(t)).Runtime(runtimeName).Suspended().Obj()
	submit(t, all, job)
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	err := all.Wait(ctx, client.ObjectKeyFromObject(job), func(jobs.Snapshot) (bool, error) {
		cancel(enough)
		return false, nil
	})
	if !errors.Is(err, enough) {
		t.Errorf("Wait() = %v, want %v", err, enough)
	}
	if err := all.Delete(t.Context(), client.ObjectKeyFromObject(job)); err != nil {
		t.Error(err)
	}
	err = all.Wait(t.Context(), client.ObjectKeyFromObject(job), func(jobs.Snapshot) (bool, error) { return false, nil })
	if !apierrors.IsNotFound(err) {
		t.Errorf("Wait() of a deleted job = %v, want a NotFound error", err)
	}
	if err := all.Delete(t.Context(), client.ObjectKeyFromObject(job)); err != nil {
		t.Errorf("deleting again: %v", err)
	}
}
