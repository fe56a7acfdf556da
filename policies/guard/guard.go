package guard

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Rule is a rule's name, the same in docs/admission.md, in messages and in reports.
type Rule string

// The rules, in the order in which the API server asks them.
const (
	RuleRuntime           Rule = "runtime"
	RuleJobName           Rule = "job-name"
	RuleFields            Rule = "fields"
	RuleNodes             Rule = "nodes"
	RuleProcesses         Rule = "processes"
	RuleGPUs              Rule = "gpus"
	RuleResources         Rule = "resources"
	RuleEncryption        Rule = "encryption"
	RuleImage             Rule = "image"
	RuleEnvironment       Rule = "environment"
	RuleEnvSources        Rule = "env-sources"
	RuleManager           Rule = "manager"
	RuleSSHKeys           Rule = "ssh-keys"
	RulePatchFields       Rule = "patch-fields"
	RulePatchVolumes      Rule = "patch-volumes"
	RulePatchMounts       Rule = "patch-mounts"
	RulePatchLabels       Rule = "patch-labels"
	RulePatchNodeSelector Rule = "patch-node-selector"
)

// Definition is what a rule is.
type Definition struct {
	Rule Rule
	Doc  string // what it demands, in one sentence without a full stop

	check func(Job, Parameters) field.ErrorList
}

// Rules lists all rules, in the order in which the API server asks them.
func Rules() []Definition {
	return []Definition{
		{RuleRuntime, "A TrainJob names a runtime that its tenant may use", runtimeIsListed},
		{RuleJobName, "A TrainJob's name is short enough for the names of its pods", nameIsShort},
		{RuleFields, "A TrainJob sets only fields that somebody has decided on", odd(RuleFields)},
		{RuleNodes, "A TrainJob asks for no more nodes than its runtime allows", nodesAreFew},
		{RuleProcesses, "A TrainJob asks for no more processes on a node than its runtime allows", processesAreFew},
		{RuleGPUs, "A TrainJob asks for no more GPUs on a node than its runtime allows", gpusAreFew},
		{RuleResources, "A TrainJob that says what nodes get says their CPU and memory, where Trainer forgets those of the runtime", resourcesAreComplete},
		{RuleEncryption, "A TrainJob asks for no RDMA where the network is encrypted, because RDMA is not", networkIsEncrypted},
		{RuleImage, "A TrainJob runs the image of its runtime, because its nodes do so anyway", imageIsTheRuntimes},
		{RuleEnvironment, "A TrainJob leaves it to its runtime to say where ranks run", environmentIsTheRuntimes},
		{RuleEnvSources, "Variables come from sources that somebody has decided on", odd(RuleEnvSources)},
		{RuleManager, "A TrainJob is managed by somebody who runs it", managerIsKnown},
		{RuleSSHKeys, "A TrainJob does not read the SSH key of a job, which opens all pods of it", keysAreApart},
		{RulePatchFields, "A TrainJob patches only fields that somebody has decided on", odd(RulePatchFields)},
		{RulePatchVolumes, "A TrainJob brings volumes of what its namespace holds, under names of their own", volumesAreTheTeams},
		{RulePatchMounts, "A TrainJob mounts the volumes that it brings, and leaves those of its runtime as they are mounted", mountsAreTheJobs},
		{RulePatchLabels, "A TrainJob sets labels and annotations that the platform lists", labelsAreListed},
		{RulePatchNodeSelector, "A TrainJob chooses nodes by labels that the platform lists", nodeLabelsAreListed},
	}
}

// Doc is what the rule demands, in one sentence without a full stop.
func (r Rule) Doc() string {
	for _, rule := range Rules() {
		if rule.Rule == r {
			return rule.Doc
		}
	}
	return ""
}

// Denial is what a rule has against a TrainJob.
type Denial struct {
	Rule Rule
	Path string // where in the TrainJob, such as spec.trainer.numNodes
	Says string // what is wrong, and what to change
}

// String says it as the API server does.
func (d Denial) String() string { return fmt.Sprintf("%s: %s: %s", d.Path, d.Rule, d.Says) }

// Judge asks all rules about a TrainJob that somebody submits. No denials mean that it is allowed.
func Judge(job Job, p Parameters) []Denial {
	var denials []Denial
	for _, rule := range Rules() {
		for _, err := range rule.check(job, p) {
			denials = append(denials, Denial{rule.Rule, err.Field, err.Detail})
		}
	}
	return denials
}

// odd is a rule about fields that may not be set, which the shape of a TrainJob finds.
func odd(rule Rule) func(Job, Parameters) field.ErrorList {
	return func(job Job, _ Parameters) field.ErrorList {
		var errs field.ErrorList
		for _, o := range job.Odd {
			if o.Rule == rule {
				errs = append(errs, field.Forbidden(o.Path, o.Says))
			}
		}
		return errs
	}
}
