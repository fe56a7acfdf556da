//go:build linux

package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/api/jobs"
)

func (s *sandbox) changedRuntime(t testing.TB, base string, change func(*trainer.TrainingRuntimeSpec)) string {
	t.Helper()
	var original trainer.ClusterTrainingRuntime
	if err := s.client.Get(t.Context(), client.ObjectKey{Name: base}, &original); err != nil {
		t.Fatal(err)
	}
	changed := &trainer.ClusterTrainingRuntime{
		ObjectMeta: metav1.ObjectMeta{GenerateName: base + "-", Labels: original.Labels, Annotations: original.Annotations},
		Spec:       original.Spec,
	}
	change(&changed.Spec)
	if err := s.client.Create(t.Context(), changed); err != nil {
		t.Fatalf("creating a changed runtime: %v", err)
	}
	t.Cleanup(func() { _, _ = s.runKubectl("", "delete", "clustertrainingruntime", changed.Name, "--wait=false") })
	time.Sleep(cacheDelay)
	return changed.Name
}

// cacheDelay is the time that tests wait after they create a runtime. After this time, the cache of Trainer's webhook
// contains the runtime.
const cacheDelay = 500 * time.Millisecond

func podSpec(spec *trainer.TrainingRuntimeSpec, role jobs.Role) *corev1.PodSpec {
	for i := range spec.Template.Spec.ReplicatedJobs {
		if job := &spec.Template.Spec.ReplicatedJobs[i]; job.Name == string(role) {
			return &job.Template.Spec.Template.Spec
		}
	}
	return &corev1.PodSpec{}
}

func podSpecs(spec *trainer.TrainingRuntimeSpec) []*corev1.PodSpec {
	return []*corev1.PodSpec{podSpec(spec, jobs.Launcher), podSpec(spec, jobs.Node)}
}

func listContainers(pod *corev1.PodSpec) []*corev1.Container {
	var all []*corev1.Container
	for _, list := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for i := range list {
			all = append(all, &list[i])
		}
	}
	return all
}

func findContainer(spec *trainer.TrainingRuntimeSpec, role jobs.Role, name string) *corev1.Container {
	all := listContainers(podSpec(spec, role))
	if i := slices.IndexFunc(all, func(c *corev1.Container) bool { return c.Name == name }); i >= 0 {
		return all[i]
	}
	return &corev1.Container{}
}

func setEnv(c *corev1.Container, name, value string) {
	c.Env = slices.DeleteFunc(c.Env, func(v corev1.EnvVar) bool { return v.Name == name })
	c.Env = append(c.Env, corev1.EnvVar{Name: name, Value: value})
}

// rewrite replaces a text in the script of a container. The container's command must have the form sh -c SCRIPT NAME,
// and SCRIPT must contain the argument "old".
func rewrite(t *testing.T, c *corev1.Container, old, replacement string) {
	t.Helper()
	if len(c.Command) < 3 || !strings.Contains(c.Command[2], old) {
		t.Fatalf("the script of container %q has no %q", c.Name, old)
	}
	c.Command = slices.Clone(c.Command)
	c.Command[2] = strings.Replace(c.Command[2], old, replacement, 1)
}

// requestLittle reduces the resource requests of all containers, so that more pods fit on the cluster nodes. requestLittle
// also reduces the requests of init containers, because a pod requests at least as much as each init container.
func requestLittle(spec *trainer.TrainingRuntimeSpec) {
	for _, pod := range podSpecs(spec) {
		for _, container := range listContainers(pod) {
			container.Resources.Requests = corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("16Mi"),
			}
		}
	}
}
