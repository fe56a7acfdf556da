// Package build builds objects for tests. The package sets no defaults, so that each test shows all values on which it
// depends.
package build

import (
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// TrainJob is a builder of a TrainJob. Each method of the builder sets one field, and the method Obj returns the
// result.
type TrainJob struct{ obj trainer.TrainJob }

// MakeTrainJob returns a builder of a TrainJob that has only a name and a namespace.
func MakeTrainJob(name, namespace string) *TrainJob {
	return &TrainJob{trainer.TrainJob{
		TypeMeta:   metav1.TypeMeta{APIVersion: trainer.GroupVersion.String(), Kind: trainer.TrainJobKind},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
	}}
}

// CopyTrainJob returns a builder that changes a copy of a TrainJob.
func CopyTrainJob(obj *trainer.TrainJob) *TrainJob { return &TrainJob{*obj.DeepCopy()} }

// Runtime makes the TrainJob use the ClusterTrainingRuntime with the given name.
func (j *TrainJob) Runtime(name string) *TrainJob {
	j.obj.Spec.RuntimeRef = trainer.RuntimeRef{Name: name}
	return j
}

// NamespacedRuntime makes the TrainJob use the TrainingRuntime with the given name in the
// TrainJob's namespace.
func (j *TrainJob) NamespacedRuntime(name string) *TrainJob {
	j.obj.Spec.RuntimeRef = trainer.RuntimeRef{Name: name, Kind: ptr.To(trainer.TrainingRuntimeKind)}
	return j
}

// Nodes assigns the number n to the field numNodes of the TrainJob. If the runtime runs the launcher as a node, the
// launcher is one of the n nodes.
func (j *TrainJob) Nodes(n int32) *TrainJob {
	j.trainer().NumNodes = &n
	return j
}

// ProcPerNode requests n MPI ranks on every node.
func (j *TrainJob) ProcPerNode(n int32) *TrainJob {
	j.trainer().NumProcPerNode = &n
	return j
}

// Image sets the image of the trainer container, in place of the image in the runtime.
func (j *TrainJob) Image(image string) *TrainJob {
	j.trainer().Image = &image
	return j
}

// Command sets the command of the launcher.
func (j *TrainJob) Command(command ...string) *TrainJob {
	j.trainer().Command = command
	return j
}

// Args sets the arguments of the command.
func (j *TrainJob) Args(args ...string) *TrainJob {
	j.trainer().Args = args
	return j
}

// Env adds one environment variable.
func (j *TrainJob) Env(name, value string) *TrainJob {
	j.trainer().Env = append(j.trainer().Env, corev1.EnvVar{Name: name, Value: value})
	return j
}

// Resource sets the request and the limit of a resource in the field resourcesPerNode.
func (j *TrainJob) Resource(name corev1.ResourceName, quantity string) *TrainJob {
	if j.trainer().ResourcesPerNode == nil {
		j.trainer().ResourcesPerNode = &corev1.ResourceRequirements{
			Requests: corev1.ResourceList{}, Limits: corev1.ResourceList{},
		}
	}
	amount := resource.MustParse(quantity)
	j.trainer().ResourcesPerNode.Requests[name] = amount
	j.trainer().ResourcesPerNode.Limits[name] = amount
	return j
}

// Limit sets the limit of a resource in the field resourcesPerNode, and removes all other limits and all requests.
func (j *TrainJob) Limit(name corev1.ResourceName, quantity string) *TrainJob {
	j.trainer().ResourcesPerNode = &corev1.ResourceRequirements{
		Requests: corev1.ResourceList{}, Limits: corev1.ResourceList{name: resource.MustParse(quantity)},
	}
	return j
}

// Label sets a label of the TrainJob itself.
func (j *TrainJob) Label(key, value string) *TrainJob {
	metav1.SetMetaDataLabel(&j.obj.ObjectMeta, key, value)
	return j
}

// Annotation sets an annotation of the TrainJob itself.
func (j *TrainJob) Annotation(key, value string) *TrainJob {
	metav1.SetMetaDataAnnotation(&j.obj.ObjectMeta, key, value)
	return j
}

// Suspended suspends the TrainJob, so that it does not start.
func (j *TrainJob) Suspended() *TrainJob {
	j.obj.Spec.Suspend = ptr.To(true)
	return j
}

// Obj returns a copy of the TrainJob. After a call of Obj, the builder can still be used.
func (j *TrainJob) Obj() *trainer.TrainJob { return j.obj.DeepCopy() }

func (j *TrainJob) trainer() *trainer.Trainer {
	if j.obj.Spec.Trainer == nil {
		j.obj.Spec.Trainer = &trainer.Trainer{}
	}
	return j.obj.Spec.Trainer
}
