//go:build linux

package preflight

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard/test/jail"
)

const rendered = "../../bundles/rendered/minimal/plain/manifests.yaml"

func TestMain(m *testing.M) {
	flag.Parse()
	_ = flag.Set("test.parallel", "8") // The tests wait more than they compute.
	os.Exit(jail.Main(m))
}

// need fails a test where the machine lacks a program.
func need(t testing.TB, program string) {
	t.Helper()
	_, err := exec.LookPath(program)
	if err != nil {
		_, err = exec.LookPath("/usr/sbin/" + program)
	}
	if err != nil {
		t.Fatalf("there is no %s on this machine: make packages installs it", program)
	}
}

// podSpecs are the pods of the rendered runtime, by the name of their ReplicatedJob.
func podSpecs(t testing.TB) map[string]*corev1.PodSpec {
	t.Helper()
	runtime, err := readRuntime(rendered)
	if err != nil {
		t.Fatalf("reading the rendered runtime: %v", err)
	}
	specs := map[string]*corev1.PodSpec{}
	for _, job := range runtime.Spec.Template.Spec.ReplicatedJobs {
		specs[job.Name] = &job.Template.Spec.Template.Spec
	}
	return specs
}

// readRuntime finds the first ClusterTrainingRuntime among the objects of a file.
func readRuntime(path string) (*trainer.ClusterTrainingRuntime, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading objects: %w", err)
	}
	for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
		runtime := new(trainer.ClusterTrainingRuntime)
		if err := yaml.Unmarshal(document, runtime); err != nil {
			return nil, fmt.Errorf("reading an object of %s: %w", path, err)
		}
		if runtime.Kind == trainer.ClusterTrainingRuntimeKind {
			return runtime, nil
		}
	}
	return nil, fmt.Errorf("reading %s: %w", path, errors.New("there is no ClusterTrainingRuntime"))
}

// container finds a container of a pod by name.
func container(t testing.TB, containers []corev1.Container, name string) corev1.Container {
	t.Helper()
	i := slices.IndexFunc(containers, func(c corev1.Container) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("the runtime has no container %q", name)
	}
	return *containers[i].DeepCopy()
}

// setEnv is what a TrainJob's env does to a container.
func setEnv(container *corev1.Container, name, value string) {
	for i := range container.Env {
		if container.Env[i].Name == name {
			container.Env[i].Value = value
			return
		}
	}
	container.Env = append(container.Env, corev1.EnvVar{Name: name, Value: value})
}
