//go:build linux

package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/api/jobs"
)

// spoil makes a runtime that is another one but for a change, and goes with the test.
func (s *sandbox) spoil(t *testing.T, base string, change func(*trainer.TrainingRuntimeSpec)) string {
	t.Helper()
	var good trainer.ClusterTrainingRuntime
	if err := s.client.Get(t.Context(), client.ObjectKey{Name: base}, &good); err != nil {
		t.Fatal(err)
	}
	bad := &trainer.ClusterTrainingRuntime{
		ObjectMeta: metav1.ObjectMeta{GenerateName: base + "-", Labels: good.Labels, Annotations: good.Annotations},
		Spec:       good.Spec,
	}
	change(&bad.Spec)
	if err := s.client.Create(t.Context(), bad); err != nil {
		t.Fatalf("making a changed runtime: %v", err)
	}
	t.Cleanup(func() { _, _ = s.try("", "delete", "clustertrainingruntime", bad.Name, "--wait=false") })
	time.Sleep(cacheDelay)
	return bad.Name
}

// cacheDelay is how long Trainer's webhook may take to see a new runtime.
const cacheDelay = 500 * time.Millisecond

// pod is the pod of a role in a runtime.
func pod(spec *trainer.TrainingRuntimeSpec, role jobs.Role) *corev1.PodSpec {
	for i := range spec.Template.Spec.ReplicatedJobs {
		if job := &spec.Template.Spec.ReplicatedJobs[i]; job.Name == string(role) {
			return &job.Template.Spec.Template.Spec
		}
	}
	return &corev1.PodSpec{}
}

// pods are those of both roles.
func pods(spec *trainer.TrainingRuntimeSpec) []*corev1.PodSpec {
	return []*corev1.PodSpec{pod(spec, jobs.Launcher), pod(spec, jobs.Node)}
}

// containers are all of a pod.
func containers(pod *corev1.PodSpec) []*corev1.Container {
	var all []*corev1.Container
	for _, list := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for i := range list {
			all = append(all, &list[i])
		}
	}
	return all
}

// container is one of a role's by name.
func container(spec *trainer.TrainingRuntimeSpec, role jobs.Role, name string) *corev1.Container {
	all := containers(pod(spec, role))
	if i := slices.IndexFunc(all, func(c *corev1.Container) bool { return c.Name == name }); i >= 0 {
		return all[i]
	}
	return &corev1.Container{}
}

// setEnv gives a container a variable, or another value for it.
func setEnv(c *corev1.Container, name, value string) {
	c.Env = slices.DeleteFunc(c.Env, func(v corev1.EnvVar) bool { return v.Name == name })
	c.Env = append(c.Env, corev1.EnvVar{Name: name, Value: value})
}

// rewrite changes the script of a container: sh -c SCRIPT NAME. It fails a test whose change
// changes nothing.
func rewrite(t *testing.T, c *corev1.Container, was, becomes string) {
	t.Helper()
	if len(c.Command) < 3 || !strings.Contains(c.Command[2], was) {
		t.Fatalf("the script of container %q has no %q", c.Name, was)
	}
	c.Command = slices.Clone(c.Command)
	c.Command[2] = strings.Replace(c.Command[2], was, becomes, 1)
}
