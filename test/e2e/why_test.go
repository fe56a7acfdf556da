//go:build linux

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainyard/trainyard/api/jobs"
	"github.com/trainyard/trainyard/test/build"
	"github.com/trainyard/trainyard/test/poll"
)

func (s *sandbox) why(ctx context.Context, namespace, job string) (found jobs.Explanation, err error) {
	cmd := exec.CommandContext(ctx, s.trainyard, "why", job, "-o", "json", "--kubeconfig", s.kubeconfig, "--namespace", namespace)
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return found, fmt.Errorf("trainyard why: %w: %s", err, exit.Stderr)
	}
	return found, errors.Join(err, json.Unmarshal(out, &found))
}

// killItself returns a command with which each rank sends a signal to itself. The command runs Python instead of a
// shell script. A shell script would need $$ for its own process id, and Kubernetes would replace $$ by $.
func killItself(signal int) []string {
	return []string{"mpirun", "python3", "-c", fmt.Sprintf("import os; os.kill(os.getpid(), %d)", signal)}
}

// noGPUMemory is a Python program that raises the same exception as PyTorch on a GPU without free memory. The program needs
// no GPU.
const noGPUMemory = `
class OutOfMemoryError(RuntimeError): pass
OutOfMemoryError.__module__ = "torch"
raise OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
`

func TestWhyExplainsFailures(t *testing.T) {
	t.Parallel()
	s := useController(t)
	for name, tc := range map[string]struct {
		runtime        string
		command        []string
		code, evidence string
	}{
		"a missing program, Open MPI 4": {"openmpi", []string{"mpirun", "/opt/missing"}, "ProgramMissing", "executable"},
		"a missing program, Open MPI 5": {"openmpi5", []string{"mpirun", "/opt/missing"}, "ProgramMissing", "/opt/missing"},
		"a missing program, MPICH":      {"mpich", []string{"mpirun", "/opt/missing"}, "ProgramMissing", "/opt/missing"},
		"an exception":                  {"openmpi", []string{"mpirun", "python3", "-c", "raise ValueError('batch size 0')"}, "PythonException", "ValueError: batch size 0"},
		"no memory of a GPU":            {"openmpi", []string{"mpirun", "python3", "-c", noGPUMemory}, "GPUOutOfMemory", "CUDA out of memory. Tried to allocate 2.00 GiB."},
		"a missing module":              {"openmpi", []string{"mpirun", "python3", "-c", "import acme_data"}, "PythonModuleMissing", "acme_data"},
		"a killed rank":                 {"openmpi", killItself(9), "ProcessKilled", "signal 9|exit code 137"}, // mpirun sometimes prints nothing about the signal,
		"a killed rank, MPICH":          {"mpich", killItself(9), "ProcessKilled", "9"},
		"a killed rank, Intel MPI":      {"intel", killItself(9), "ProcessKilled", "9"},
		"a crashed rank":                {"openmpi5", killItself(11), "ProcessCrashed", "signal 11|exit code 139"},
		"too many processes":            {"openmpi", []string{"mpirun", "-np", "64", "true"}, "TooFewSlots", "slots"},
		"a missing command":             {"openmpi", []string{"mpirn", "true"}, "CommandMissing", "mpirn"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			namespace := s.makeNamespace(t)
			job := build.MakeTrainJob("wrong", namespace).Runtime(tc.runtime).Nodes(2).Command(tc.command...)
			if got := s.run(t, job); got.condition != trainer.TrainJobFailed {
				t.Fatalf("the job has condition %q, want Failed", got.condition)
			}
			found, err := s.why(t.Context(), namespace, "wrong")
			if err != nil {
				t.Fatal(err)
			}
			if found.Phase != jobs.Failed || len(found.Causes) == 0 || found.Causes[0].Code != tc.code || !regexp.MustCompile(tc.evidence).MatchString(found.Causes[0].Evidence) {
				t.Errorf("%+v, want cause %s with evidence %q", found, tc.code, tc.evidence)
			}
			s.expectReport(t, namespace, "wrong", jobs.Failed, tc.code+" (")
		})
	}
}

// TestWhyShowsTheEndOfTheLog runs a job that fails with a cause that trainyard does not know. `trainyard why` must then
// show the end of the log, without secrets.
func TestWhyShowsTheEndOfTheLog(t *testing.T) {
	t.Parallel()
	s := useCluster(t)
	namespace := s.makeNamespace(t)
	// The first command prints 2 MB in long lines, which is more than trainyard reads from a log.
	const script = "head -c 2000000 /dev/zero | tr '\\0' x | fold -w 1500; for i in $(seq 100); do echo step $i; done; echo HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz; echo our license server said no; exit 3"
	s.run(t, build.MakeTrainJob("odd", namespace).Runtime("openmpi").Nodes(2).Command("sh", "-c", script))
	found, err := s.why(t.Context(), namespace, "odd")
	if err != nil {
		t.Fatal(err)
	}
	if len(found.Excerpts) != 1 {
		t.Fatalf("%+v, want one excerpt", found)
	}
	lines := found.Excerpts[0].Lines
	if got := strings.Join(lines[max(0, len(lines)-3):], "|"); got != "step 100|HF_TOKEN=[secret]|our license server said no" || !strings.Contains(found.Excerpts[0].Pod, "launcher") {
		t.Errorf("excerpt of %s: %q", found.Excerpts[0].Pod, got)
	}
}

func TestWhyExplainsWaitingJobs(t *testing.T) {
	t.Parallel()
	s := useCluster(t)
	sum := func(namespace string) *build.TrainJob {
		return build.MakeTrainJob("wait", namespace).Runtime("openmpi").Nodes(2)
	}
	for name, tc := range map[string]struct {
		quota   corev1.ResourceList
		change  func(*build.TrainJob) *build.TrainJob
		runtime func(*trainer.TrainingRuntimeSpec)
		code    string
		phase   jobs.Phase // any phase if empty
	}{
		"suspended":       {change: (*build.TrainJob).Suspended, code: "Suspended", phase: jobs.Suspended},
		"too many CPUs":   {change: func(j *build.TrainJob) *build.TrainJob { return j.Resource(corev1.ResourceCPU, "500") }, code: "TooFewResources", phase: jobs.GangScheduling},
		"quota of pods":   {quota: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}, code: "QuotaExceeded", phase: jobs.Pending},
		"no SSH keys":     {quota: corev1.ResourceList{corev1.ResourceSecrets: resource.MustParse("0")}, code: "SSHKeysNotCreated"},
		"a missing image": {runtime: func(spec *trainer.TrainingRuntimeSpec) { setImage(spec, "localhost/missing:1", corev1.PullNever) }, code: "ImageNeverPulled", phase: jobs.Initializing},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			namespace := s.makeNamespace(t)
			job := sum(namespace)
			if tc.quota != nil {
				quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "small"}, Spec: corev1.ResourceQuotaSpec{Hard: tc.quota}}
				if err := s.client.Create(t.Context(), quota); err != nil {
					t.Fatal(err)
				}
			}
			if tc.runtime != nil {
				job = job.Runtime(s.changedRuntime(t, "openmpi", tc.runtime))
			}
			if tc.change != nil {
				job = tc.change(job)
			}
			poll.Until(t, 10*time.Second, func(ctx context.Context) error { return s.client.Create(ctx, job.Obj()) })
			poll.Until(t, time.Minute, func(ctx context.Context) error {
				found, err := s.why(ctx, namespace, "wait")
				if err != nil {
					return err
				}
				if tc.phase != "" && found.Phase != tc.phase || len(found.Causes) == 0 || found.Causes[0].Code != tc.code {
					return fmt.Errorf("%+v, want phase %s and cause %s", found, tc.phase, tc.code)
				}
				return nil
			})
		})
	}
}
