// Package guard judges TrainJobs by the rules of docs/admission.md: the same that the
// ValidatingAdmissionPolicy of policies/admission holds in the cluster, as pure functions for
// whoever asks before that. A Reader makes a Job of a TrainJob, which does not depend on the
// version of Trainer; each rule looks at a Job, and at the Parameters of a tenant.
package guard

import (
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Job is what rules look at in a TrainJob. Texts are empty and pointers nil where the TrainJob
// says nothing.
type Job struct {
	// Name is metadata.name or, if it is still to be made of generateName, one of the same length.
	Name string
	// Runtime is spec.runtimeRef, with the defaults that the API server fills in.
	Runtime RuntimeRef
	// ManagedBy is spec.managedBy.
	ManagedBy *string
	// Image is spec.trainer.image.
	Image string
	// Nodes is spec.trainer.numNodes.
	Nodes *int64
	// Processes is spec.trainer.numProcPerNode, which could be a word up to Trainer 2.1.
	Processes *intstr.IntOrString
	// Limits and Requests are spec.trainer.resourcesPerNode, by resource.
	Limits, Requests map[string]resource.Quantity
	// Replaces is the version of Trainer, if it takes Limits and Requests for all that nodes get and they are given; 2.3 lays
	// them over the runtime's.
	Replaces string
	// Env are the trainer's variables.
	Env []Named
	// Secrets are those that the job reads, in whatever way.
	Secrets []Named
	// Labels, Annotations and NodeLabels are keys: what Trainer is to write on the JobSet, Jobs and
	// pods, and what pods choose nodes by.
	Labels, Annotations, NodeLabels []Named
	// Volumes are those that patches bring.
	Volumes []Named
	// Mounts are the names of the volumes that patches mount.
	Mounts []Named
	// Odd are the fields that nobody has decided on, and those that were decided against.
	Odd []Odd
}

// RuntimeRef names a runtime.
type RuntimeRef struct{ Group, Kind, Name string }

// Named is a name that a TrainJob says, and where.
type Named struct {
	Name string
	Path *field.Path
}

// Odd is a field that a TrainJob may not set.
type Odd struct {
	Path *field.Path
	Rule Rule   // which forbids it
	Says string // why, and what to do instead
}
