// Package guard judges TrainJobs by the rules of docs/admission.md: the same that the
// ValidatingAdmissionPolicy of policies/admission holds in the cluster, as pure functions for
// whoever asks before that. Each rule looks at a Job, which does not depend on the version of
// Trainer, and at the Parameters of a tenant.
package guard

// Job is what rules look at in a TrainJob. An adapter makes it, one for each way in which
// Trainer wrote patches. Texts are empty and numbers nil where the TrainJob says nothing.
type Job struct {
	// Name is metadata.name.
	Name string
	// Runtime is spec.runtimeRef, with the defaults that the API server fills in.
	Runtime RuntimeRef
	// ManagedBy is spec.managedBy.
	ManagedBy string
	// Image is spec.trainer.image.
	Image string
	// Nodes is spec.trainer.numNodes.
	Nodes *int64
	// Processes is spec.trainer.numProcPerNode: an int64 or, in Trainer 2.1, perhaps a string; nil if it is not given.
	Processes any
	// Limits and Requests are spec.trainer.resourcesPerNode: quantities, by resource.
	Limits, Requests map[string]string
	// Env are the variables of the trainer and of initializers.
	Env []Variable
	// TrainerEnv are the names of the trainer's variables.
	TrainerEnv []string
	// Secrets are the names of Secrets that initializers read.
	Secrets []string
	// Labels and Annotations are of the JobSet and of Jobs: their keys.
	Labels, Annotations []string
	// Patches are what the job changes in pods of its runtime, but for what an update leaves as it was.
	Patches []Patch
	// Unknown are the fields of the TrainJob that nobody has decided on, as paths.
	Unknown []string
	// UnknownPatches are the fields of patches, outside of pods, that nobody has decided on: their names.
	UnknownPatches []string
	// PatchPath is where patches stand: spec.podTemplateOverrides or spec.runtimePatches.
	PatchPath string
}

// RuntimeRef names a runtime.
type RuntimeRef struct{ Group, Kind, Name string }

// Variable is a variable of a container, by its source if it has one.
type Variable struct {
	Name   string
	Source string // the field of valueFrom, such as secretKeyRef; empty for a plain value
	Secret string // the Secret, where Source is secretKeyRef
}

// Patch is what a job changes in the pods of one ReplicatedJob.
type Patch struct {
	// Labels, Annotations and NodeLabels are keys: of the pod's metadata, and of its nodeSelector.
	Labels, Annotations, NodeLabels []string
	// Unknown are the names of fields of the pod that may not be patched, and of fields below it.
	Unknown []string
	// Volumes are the pod's.
	Volumes []Volume
	// Env are the variables of its containers.
	Env []Variable
	// Secrets are the names of Secrets that images are pulled with.
	Secrets []string
}

// Volume is a volume of a pod.
type Volume struct {
	Name    string
	Kinds   []string // fields that say what it is, such as persistentVolumeClaim, and for parts of a projected one "projected.secret"
	Secrets []string // the Secrets that it shows
}
