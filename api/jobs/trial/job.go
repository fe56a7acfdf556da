package trial

import (
	"fmt"
	"strings"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/trainyard/trainyard/api/jobs"
)

const (
	// label marks TrainJobs of trials; its value is the runtime's name.
	label = "trainyard.dev/runtime-test"
	// queueLabel is how a job asks for a queue (kueue/pkg/controller/constants).
	queueLabel = "kueue.x-k8s.io/queue-name"
	// manager says who patched the runtime for the trial's job.
	manager = "trainyard.dev/runtime-test"
	// variable must reach every rank with the job's own name in it.
	variable = "TRAINYARD_RUNTIME_TEST"
	// greeting starts the line that each rank prints.
	greeting = "trainyard rank on "
	// verdictMargin is how much sooner than the trial the launcher's preflight gives up, so
	// that its verdict is read.
	verdictMargin = 20 * time.Second
)

// program is what each rank runs: it says where it is, and whether the environment came along.
// It needs no MPI library: what is tried is how ranks start. It lasts a second, because mpirun of
// Open MPI 5 may wait for ever for a rank that ends before its daemon has noted that it runs
// (docs/sandbox.md).
const program = `echo "` + greeting + `$(uname -n) with $` + variable + `"; sleep 1`

// jobFor is the smallest TrainJob that shows whether a runtime works.
func jobFor(o Options) *trainer.TrainJob {
	name := "runtime-test-" + rand.String(5)
	nodes := o.Nodes
	if o.Runtime.LauncherIsNode() {
		nodes++ // TrainJobs count the launcher then
	}
	job := &trainer.TrainJob{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: o.Namespace,
			Labels: map[string]string{label: labelValue(o.Runtime.Name)},
		},
		Spec: trainer.TrainJobSpec{
			RuntimeRef: o.Runtime.Ref(),
			Trainer: &trainer.Trainer{
				NumNodes: &nodes,
				Command:  []string{"mpirun"},
				// Args of the runtime would follow our command, if there were none here.
				Args: []string{"sh", "-c", program},
				Env:  []corev1.EnvVar{{Name: variable, Value: name}},
			},
		},
	}
	if o.Queue != "" {
		job.Labels[queueLabel] = o.Queue
	}
	if patience := max(o.Timeout-verdictMargin, o.Timeout/2); o.Runtime.Patience() > patience {
		job.Spec.RuntimePatches = []trainer.RuntimePatch{hasten(patience)}
	}
	return job
}

// labelValue cuts a name that is too long for a label.
func labelValue(name string) string {
	return strings.TrimRight(name[:min(len(name), validation.LabelValueMaxLength)], "-.")
}

// hasten has preflight give its verdict within the trial, however patient the runtime is.
// Trainer 2.1 knows no patches, and its API server drops them.
func hasten(patience time.Duration) trainer.RuntimePatch {
	return trainer.RuntimePatch{
		Manager: manager,
		TrainingRuntimeSpec: &trainer.TrainingRuntimeSpecPatch{Template: &trainer.JobSetTemplatePatch{Spec: &trainer.JobSetSpecPatch{
			ReplicatedJobs: []trainer.ReplicatedJobPatch{{
				Name: string(jobs.Launcher),
				Template: &trainer.JobTemplatePatch{Spec: &trainer.JobSpecPatch{Template: &trainer.PodTemplatePatch{Spec: &trainer.PodSpecPatch{
					InitContainers: []trainer.ContainerPatch{{
						Name: jobs.Preflight,
						Env:  []corev1.EnvVar{{Name: jobs.PatienceVariable, Value: fmt.Sprint(int(patience.Seconds()))}},
					}},
				}}}},
			}},
		}}},
	}
}

func keyOf(job *trainer.TrainJob) types.NamespacedName {
	return types.NamespacedName{Namespace: job.Namespace, Name: job.Name}
}
