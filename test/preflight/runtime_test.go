//go:build linux

package preflight

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard/test/podrunner"
)

const rendered = "../../bundles/rendered/minimal/plain/manifests.yaml"

func TestMain(m *testing.M) {
	flag.Parse()
	_ = flag.Set("test.parallel", "8") // run many tests at once, because tests mostly wait
	os.Exit(podrunner.Main(m))
}

func requireProgram(t testing.TB, program string) {
	t.Helper()
	_, err := exec.LookPath(program)
	if err != nil {
		_, err = exec.LookPath("/usr/sbin/" + program)
	}
	if err != nil {
		t.Fatalf("%s is missing: run `make packages`", program)
	}
}

// podSpecs maps the name of each ReplicatedJob of the rendered runtime to its pod spec.
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

// setEnv sets an environment variable of a container, as the field "env" of a TrainJob does.
func setEnv(container *corev1.Container, name, value string) {
	for i := range container.Env {
		if container.Env[i].Name == name {
			container.Env[i].Value = value
			return
		}
	}
	container.Env = append(container.Env, corev1.EnvVar{Name: name, Value: value})
}
