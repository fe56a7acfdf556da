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
	"github.com/trainyard/trainyard/api/v1alpha1"
)

const (
	// trialLabel marks the TrainJobs of trials. The value of the label is the name of the runtime.
	trialLabel = v1alpha1.RuntimeTest
	// queueLabel is the label that contains the name of a LocalQueue (kueue/pkg/controller/constants).
	queueLabel = "kueue.x-k8s.io/queue-name"
	// patchManager is the value of the field "manager" in the runtime patch of a TrainJob.
	patchManager = v1alpha1.RuntimeTest
	// testVariable is the name of an environment variable that every rank must have. The TrainJob sets the
	// variable to the name of the TrainJob.
	testVariable = "TRAINYARD_RUNTIME_TEST"
	// rankPrefix is the start of the line that each rank prints.
	rankPrefix = "trainyard rank on "
	// verdictMargin is the minimum difference between the timeout of the trial and the timeout of the launcher's
	// preflight. If preflight begins in the first 20 seconds of the trial, preflight ends before the trial times out.
	// The trial can then still read the verdict. If preflight begins later, for example after a slow pull of the image,
	// the trial can time out before preflight ends. If the timeout of the trial is shorter than 40 s, the minimum
	// difference is only half of the trial's timeout.
	verdictMargin = 20 * time.Second
)

// rankCommand is the shell command that each rank runs. rankCommand prints the name of the host and the value of the
// environment variable TRAINYARD_RUNTIME_TEST. rankCommand needs no MPI library, because a trial tests only how ranks
// start. With Open MPI 5, mpirun may wait forever if a rank ends before the daemon on its host has registered the rank
// (docs/sandbox.md). Therefore rankCommand sleeps for a second.
const rankCommand = `echo "` + rankPrefix + `$(uname -n) with $` + testVariable + `"; sleep 1`

// newTrialJob returns the TrainJob for a trial with the given options.
func newTrialJob(o Options) *trainer.TrainJob {
	name := "runtime-test-" + rand.String(5)
	nodes := o.Nodes
	if o.Runtime.LauncherIsNode() {
		nodes++ // numNodes includes the launcher
	}
	job := &trainer.TrainJob{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: o.Namespace,
			Labels: map[string]string{trialLabel: labelValue(o.Runtime.Name)},
		},
		Spec: trainer.TrainJobSpec{
			RuntimeRef: o.Runtime.Ref(),
			Trainer: &trainer.Trainer{
				NumNodes: &nodes,
				Command:  []string{"mpirun"},
				// Without the field Args, mpirun would get the arguments that the runtime sets.
				Args: []string{"sh", "-c", rankCommand},
				Env:  []corev1.EnvVar{{Name: testVariable, Value: name}},
			},
		},
	}
	if o.Queue != "" {
		job.Labels[queueLabel] = o.Queue
	}
	if limit := max(o.Timeout-verdictMargin, o.Timeout/2); o.Runtime.PreflightTimeout() > limit {
		job.Spec.RuntimePatches = []trainer.RuntimePatch{limitPreflight(limit)}
	}
	return job
}

// labelValue shortens a name to the maximum length of a label value.
func labelValue(name string) string {
	return strings.TrimRight(name[:min(len(name), validation.LabelValueMaxLength)], "-.")
}

// limitPreflight returns a runtime patch that sets the timeout of preflight (see verdictMargin). Trainer 2.1 has no field
// for runtime patches, so the API server drops the patch, and the runtime's timeout applies.
func limitPreflight(timeout time.Duration) trainer.RuntimePatch {
	return trainer.RuntimePatch{
		Manager: patchManager,
		TrainingRuntimeSpec: &trainer.TrainingRuntimeSpecPatch{Template: &trainer.JobSetTemplatePatch{Spec: &trainer.JobSetSpecPatch{
			ReplicatedJobs: []trainer.ReplicatedJobPatch{{
				Name: string(jobs.Launcher),
				Template: &trainer.JobTemplatePatch{Spec: &trainer.JobSpecPatch{Template: &trainer.PodTemplatePatch{Spec: &trainer.PodSpecPatch{
					InitContainers: []trainer.ContainerPatch{{
						Name: jobs.PreflightContainer,
						Env:  []corev1.EnvVar{{Name: jobs.PreflightTimeoutVariable, Value: fmt.Sprint(int(timeout.Seconds()))}},
					}},
				}}}},
			}},
		}}},
	}
}

func keyOf(job *trainer.TrainJob) types.NamespacedName {
	return types.NamespacedName{Namespace: job.Namespace, Name: job.Name}
}
