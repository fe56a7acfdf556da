// Package guard evaluates the rules of docs/admission.md on TrainJobs that are not submitted yet. The
// ValidatingAdmissionPolicy of policies/admission enforces the same rules in the cluster. The fields of a TrainJob
// depend on the version of Trainer. Each version has a Reader, which converts its TrainJobs to the type Job. The
// type Job is the same for all versions of Trainer. Each rule is a pure function of a Job and the Parameters of a
// tenant.
package guard

import (
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Job holds the values of a TrainJob that the rules check. For unset fields, strings are empty and pointers are nil.
type Job struct {
	// Name is metadata.name. If the TrainJob sets only generateName, Name is a placeholder (see GeneratedName). The
	// placeholder has the same length as the name that the API server will generate.
	Name string
	// Exists reports whether the TrainJob already exists. RuleUnlistedQueue needs this field, because Kueue's webhook
	// sets a default queue only on new TrainJobs.
	Exists bool
	// Queue and PriorityClass are values of labels. With these labels, the TrainJob selects its queue and its priority
	// in Kueue.
	Queue, PriorityClass string
	// KueueSettings lists the keys of Kueue's labels and annotations that the TrainJob has, but that tenants may not
	// set.
	KueueSettings []Named
	// NamespaceLabels holds the labels of the TrainJob's namespace, or nil if the labels are unknown.
	NamespaceLabels map[string]string
	// Runtime is spec.runtimeRef, with the API server's defaults.
	Runtime RuntimeRef
	// ManagedBy is spec.managedBy.
	ManagedBy *string
	// Image is spec.trainer.image.
	Image string
	// Command lists spec.trainer.command, followed by spec.trainer.args.
	Command []string
	// SearchPath is the value of the variable PATH in spec.trainer.env, or nil if the TrainJob does not set this variable.
	SearchPath *string
	// Nodes is spec.trainer.numNodes.
	Nodes *int64
	// Processes is spec.trainer.numProcPerNode. Up to Trainer 2.1, the value of numProcPerNode can be a word,
	// such as auto, instead of a number.
	Processes *intstr.IntOrString
	// Limits and Requests hold the amounts in spec.trainer.resourcesPerNode. The keys are names of resources.
	Limits, Requests map[string]resource.Quantity
	// UnknownAmounts is true if guard could not parse an amount in resourcesPerNode, for example because the
	// amount violates RuleInvalidQuantity. Limits and Requests contain 0 for such an amount.
	UnknownAmounts bool
	// Replaces is a string that tells whether Limits and Requests replace all resources of the runtime. If Limits and
	// Requests do not replace these resources, the string is empty. If Limits and Requests replace these resources, the
	// string is the version of Trainer, such as "2.2". Replaces is a string and not a boolean, because some messages
	// contain the version. Before Trainer 2.3, a TrainJob that sets limits or requests replaces both the limits and the
	// requests of the runtime. Since 2.3, Trainer merges Limits and Requests into the resources of the runtime.
	Replaces string
	// Size is the size of the spec, labels, annotations and owners of the TrainJob.
	Size Size
	// Overrides is the number of items in podTemplateOverrides. Trainer 2.1 accepts any number of items, so
	// RuleOversizedJob limits the number.
	Overrides int
	// Reserved lists metadata that only controllers and admins may set: finalizers, and owners with
	// controller: true.
	Reserved []Named
	// Initializers lists the initializers that the TrainJob configures: dataset, model or both.
	Initializers []Named
	// Env lists the names of the trainer's environment variables.
	Env []Named
	// Secrets lists the names of all Secrets to which volumes, variables and initializers of the TrainJob refer.
	Secrets []Named
	// Labels and Annotations list the keys of the labels and annotations that the TrainJob adds to the JobSet, Jobs and
	// pods. The patches in a TrainJob can contain node selectors for pods. NodeLabels lists the keys of all node
	// selectors in the patches.
	Labels, Annotations, NodeLabels []Named
	// PatchTargets lists the jobs and containers to which patches refer. If a patch sets environment variables of a
	// main container, PatchTargets contains a second entry for this container. In the second entry, the field Kind is
	// "env of container".
	PatchTargets []PatchTarget
	// Volumes lists the names of the volumes that patches add.
	Volumes []Named
	// Mounts lists the names of the volumes that patches mount.
	Mounts []Named
	// Disallowed lists the fields that are unknown or forbidden.
	Disallowed []DisallowedField
}

// RuntimeRef identifies a runtime.
type RuntimeRef struct{ Group, Kind, Name string }

// Named is a name or a key in a TrainJob, and the path of the name or key.
type Named struct {
	Name string
	Path *field.Path
}

// PatchTarget is a job or container to which a patch refers.
type PatchTarget struct {
	Named
	Kind string // job, container, initContainer, or "env of container"
}

// DisallowedField is a field that a TrainJob must not set.
type DisallowedField struct {
	Path    *field.Path
	Rule    Rule   // the rule that the field violates
	Message string // the reason, and what to do instead
}
