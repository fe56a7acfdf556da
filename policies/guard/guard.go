package guard

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Rule is the name of a rule. The same name appears in docs/admission.md, in messages and in reports.
type Rule string

// The rules, in the order in which the API server evaluates them.
const (
	RuleOversizedJob             Rule = "oversized-job"
	RuleInvalidQuantity          Rule = "invalid-quantity"
	RuleUnlistedRuntime          Rule = "unlisted-runtime"
	RuleMissingInitializer       Rule = "missing-initializer"
	RuleJobNameLength            Rule = "job-name-length"
	RuleDisallowedField          Rule = "disallowed-field"
	RuleNodeLimit                Rule = "node-limit"
	RuleProcessLimit             Rule = "process-limit"
	RuleGPULimit                 Rule = "gpu-limit"
	RuleMissingResources         Rule = "missing-resources"
	RuleZeroAmount               Rule = "zero-amount"
	RuleUnencryptedRDMA          Rule = "unencrypted-rdma"
	RuleImageMismatch            Rule = "image-mismatch"
	RuleUnreadableHostfile       Rule = "unreadable-hostfile"
	RuleReservedVariable         Rule = "reserved-variable"
	RuleDisallowedVariableSource Rule = "disallowed-variable-source"
	RuleUnknownManager           Rule = "unknown-manager"
	RuleSSHKeyAccess             Rule = "ssh-key-access"
	RuleDisallowedPatchField     Rule = "disallowed-patch-field"
	RuleUnknownPatchTarget       Rule = "unknown-patch-target"
	RuleDisallowedVolume         Rule = "disallowed-volume"
	RuleRuntimeVolumeMount       Rule = "runtime-volume-mount"
	RuleUnlistedLabel            Rule = "unlisted-label"
	RuleUnlistedNodeLabel        Rule = "unlisted-node-label"
	RuleUnlistedQueue            Rule = "unlisted-queue"
	RuleUnlistedPriorityClass    Rule = "unlisted-priority-class"
	RuleUnmanagedNamespace       Rule = "unmanaged-namespace"
	RuleUnlistedKueueSetting     Rule = "unlisted-kueue-setting"
	RuleRemovedQueuePatch        Rule = "removed-queue-patch"
	RuleManualResume             Rule = "manual-resume"
	RuleReservedMetadata         Rule = "reserved-metadata"
	RuleOrphaningDeletion        Rule = "orphaning-deletion"
	RuleOwnedJobSet              Rule = "owned-jobset"
)

// Definition is a rule with its documentation and its check.
type Definition struct {
	Rule Rule
	Doc  string // what the rule demands, in one sentence without a full stop

	check func(Job, Parameters) field.ErrorList
}

// Rules lists all rules, in the order in which the API server evaluates them.
func Rules() []Definition {
	return []Definition{
		{RuleOversizedJob, "The spec, labels, annotations and owners of a TrainJob may have at most 131072 bytes, 1000 fields and 16 patches in total, and its managedFields at most 131072 bytes", oversizedJob},
		{RuleInvalidQuantity, "A TrainJob may only contain quantities that are not negative, with at most 15 digits before and 9 after the point, and an exponent of at most 2 digits", checkDisallowed(RuleInvalidQuantity)},
		{RuleUnlistedRuntime, "A TrainJob may only use runtimes that its tenant lists", unlistedRuntime},
		{RuleMissingInitializer, "A TrainJob may only configure initializers that its runtime has", withRuntime(missingInitializer)},
		{RuleJobNameLength, "A TrainJob's name must be short enough for the names of its pods", withRuntime(jobNameLength)},
		{RuleDisallowedField, "A TrainJob may only set fields that trainyard has reviewed", checkDisallowed(RuleDisallowedField)},
		{RuleNodeLimit, "A TrainJob may not request more nodes than its runtime allows", withRuntime(nodeLimit)},
		{RuleProcessLimit, "A TrainJob may not request more processes per node than its runtime allows", withRuntime(processLimit)},
		{RuleGPULimit, "A TrainJob may not request more GPUs per node than its runtime allows", withRuntime(gpuLimit)},
		{RuleMissingResources, "If Trainer drops the runtime's resources, a TrainJob that sets resourcesPerNode must also set CPU and memory", withRuntime(missingResources)},
		{RuleZeroAmount, "A TrainJob may not set an amount of CPU or memory to 0, because Kubernetes treats 0 as no limit", zeroAmount},
		{RuleUnencryptedRDMA, "A TrainJob may not request RDMA devices if the network is encrypted, because RDMA traffic would not be encrypted", unencryptedRDMA},
		{RuleImageMismatch, "A TrainJob must use the image of its runtime, because the node pods always run the image of the runtime", withRuntime(imageMismatch)},
		{RuleUnreadableHostfile, "A TrainJob may not pass Trainer's hostfile to mpirun of MPICH or Intel MPI, which cannot read its format", withRuntime(unreadableHostfile)},
		{RuleReservedVariable, "A TrainJob may not set variables that control where ranks run", reservedVariable},
		{RuleDisallowedVariableSource, "Environment variables may only come from sources that trainyard has reviewed", checkDisallowed(RuleDisallowedVariableSource)},
		{RuleUnknownManager, "A TrainJob may only be managed by a controller that runs TrainJobs", unknownManager},
		{RuleSSHKeyAccess, "A TrainJob may not read the SSH keys of jobs, because such a key gives access to all pods of a job", sshKeyAccess},
		{RuleDisallowedPatchField, "Patches may only set fields that trainyard has reviewed", checkDisallowed(RuleDisallowedPatchField)},
		{RuleUnknownPatchTarget, "Patches may only name jobs and containers that the runtime has", unknownPatchTarget},
		{RuleDisallowedVolume, "Patches may only add volumes from the TrainJob's own namespace, under names that the runtime does not use", disallowedVolume},
		{RuleRuntimeVolumeMount, "Patches may not mount the volumes of the runtime", runtimeVolumeMount},
		{RuleUnlistedLabel, "Patches may only set labels and annotations that the platform lists", unlistedLabel},
		{RuleUnlistedNodeLabel, "Patches may only select cluster nodes by labels that the platform lists", unlistedNodeLabel},
		{RuleUnlistedQueue, "A TrainJob must use a queue of its tenant, if the tenant has queues", unlistedQueue},
		{RuleUnlistedPriorityClass, "A TrainJob may only use priority classes that its tenant lists", unlistedPriorityClass},
		{RuleUnmanagedNamespace, "The namespace of a TrainJob must have the label that Kueue requires", unmanagedNamespace},
		{RuleUnlistedKueueSetting, "A TrainJob may only have labels and annotations of Kueue that trainyard has reviewed", unlistedKueueSetting},
		{RuleRemovedQueuePatch, "An update may not change or remove the patches that Kueue writes", updatesOnly},
		{RuleManualResume, "If a tenant has queues, only Kueue may resume its TrainJobs", updatesOnly},
		{RuleReservedMetadata, "Only controllers and admins may set finalizers and controlling owners of a TrainJob", reservedMetadata},
		{RuleOrphaningDeletion, "The deletion of a TrainJob or its JobSet must delete the pods, too", noDeletion},
		{RuleOwnedJobSet, "A JobSet that a TrainJob controls may only be deleted with the TrainJob", noDeletion},
	}
}

// Doc returns what the rule demands, in one sentence without a full stop.
func (r Rule) Doc() string {
	for _, rule := range Rules() {
		if rule.Rule == r {
			return rule.Doc
		}
	}
	return ""
}

// Denial is a violation of a rule.
type Denial struct {
	Rule    Rule
	Path    string // the field of the TrainJob, such as spec.trainer.numNodes
	Message string // what is wrong, and what to change
}

// String returns the denial in the format of the API server's messages.
func (d Denial) String() string { return fmt.Sprintf("%s: %s: %s", d.Path, d.Rule, d.Message) }

// Check evaluates the rules on a TrainJob, and returns all denials. If there are no denials, a new TrainJob is
// allowed. If a TrainJob breaks RuleOversizedJob, Check evaluates no other rule. Reader.Check also handles
// updates and exempt users.
func Check(job Job, p Parameters) []Denial {
	var denials []Denial
	for _, rule := range Rules() {
		for _, err := range rule.check(job, p) {
			denials = append(denials, Denial{rule.Rule, err.Field, err.Detail})
		}
		if rule.Rule == RuleOversizedJob && len(denials) > 0 {
			return denials
		}
	}
	return denials
}

// checkDisallowed returns the check function of a rule about disallowed fields. Reader.Read has already found these
// fields, so the check function only selects the fields that violate the rule.
func checkDisallowed(rule Rule) func(Job, Parameters) field.ErrorList {
	return func(job Job, _ Parameters) field.ErrorList {
		var errs field.ErrorList
		for _, f := range job.Disallowed {
			if f.Rule == rule {
				errs = append(errs, field.Forbidden(f.Path, f.Message))
			}
		}
		return errs
	}
}

// withRuntime wraps a check that needs the runtime of a TrainJob. The wrapper finds the runtime in the tenant's
// parameters, and passes the runtime to the check. If the tenant may not use the runtime, the wrapper skips the check,
// because RuleUnlistedRuntime already denies the TrainJob.
func withRuntime(check func(Job, Runtime) field.ErrorList) func(Job, Parameters) field.ErrorList {
	return func(job Job, p Parameters) field.ErrorList {
		runtime, listed := p.runtimeLimits(job.Runtime)
		if !listed {
			return nil
		}
		return check(job, runtime)
	}
}

// newViolation returns a list with one violation, at the given path.
func newViolation(path *field.Path, format string, args ...any) field.ErrorList {
	return field.ErrorList{field.Forbidden(path, fmt.Sprintf(format, args...))}
}

// forbidEach returns one violation for each name that breaks a rule. The function "violates" decides whether a
// name breaks the rule. The message of a violation is the text in "format", with the name in place of %s.
func forbidEach(names []Named, violates func(name string) bool, format string) field.ErrorList {
	var errs field.ErrorList
	for _, n := range names {
		if violates(n.Name) {
			errs = append(errs, field.Forbidden(n.Path, fmt.Sprintf(format, printableName(n.Name))))
		}
	}
	return errs
}
