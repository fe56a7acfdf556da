package guard

import (
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The labels with which a TrainJob selects its queue and its priority in Kueue.
const (
	queueLabel         = "kueue.x-k8s.io/queue-name"
	priorityClassLabel = "kueue.x-k8s.io/priority-class"
)

// kueueLabels are the labels of Kueue that tenants may set on a TrainJob.
var kueueLabels = []string{queueLabel, priorityClassLabel, "kueue.x-k8s.io/max-exec-time-seconds"}

// isKueueSetting reports whether a key belongs to a label or annotation of Kueue that tenants may not set.
func isKueueSetting(key string) bool {
	domain, _, found := strings.Cut(key, "/")
	return found && (domain == "kueue.x-k8s.io" || strings.HasSuffix(domain, ".kueue.x-k8s.io")) && !slices.Contains(kueueLabels, key)
}

// unlistedKueueSetting denies all labels and annotations of Kueue except the labels in the variable kueueLabels. Some
// of the denied labels and annotations can make Kueue ignore a TrainJob. Other denied labels and annotations can make
// Kueue use the Workload of another job.
func unlistedKueueSetting(job Job, _ Parameters) field.ErrorList {
	return forbidEach(job.KueueSettings, func(string) bool { return true },
		"%s is not among the settings of Kueue that a TrainJob may have ("+strings.Join(kueueLabels, ", ")+"): leave it out")
}

// updatesOnly is the check function of rules that apply only to updates. updatesOnly always returns nil,
// because Reader.Check evaluates these rules itself.
func updatesOnly(Job, Parameters) field.ErrorList { return nil }

// removedQueuePatches returns a denial for each of Kueue's patches that an update changes or removes. Kueue's patches
// contain the node selector of the flavor from which the TrainJob gets its quota. Without this node selector, pods
// could run on cluster nodes of other flavors.
func (r Request) removedQueuePatches() []Denial {
	var denials []Denial
	for _, list := range []struct {
		key     string
		byKueue func(patch value) bool
	}{
		{patchesKey, func(patch value) bool { return patch.get("manager").stringValue() == "kueue.x-k8s.io/manager" }},
		{overridesKey, func(patch value) bool { return patch.get("metadata", "labels", "kueue.x-k8s.io/podset").isSet() }},
	} {
		now, _ := specOf(r.TrainJob)[list.key].([]any)
		for _, patch := range (value{content: specOf(r.Before)}).get(list.key).listItems() {
			stays := slices.ContainsFunc(now, func(n any) bool { return reflect.DeepEqual(n, patch.content) })
			if list.byKueue(patch) && !stays {
				denials = append(denials, Denial{RuleRemovedQueuePatch, "spec." + list.key, "a patch that Kueue added to the TrainJob must not be changed or removed: put the patch back"})
			}
		}
	}
	return denials
}

// manualResume returns a denial if an update resumes a suspended TrainJob of a tenant with queues. A TrainJob that a
// user resumes can run without quota until Kueue suspends it again. The user could then resume the TrainJob again and
// again.
func (r Request) manualResume(p Parameters) []Denial {
	was, is := specOf(r.Before)["suspend"], specOf(r.TrainJob)["suspend"]
	if len(p.Queues) == 0 || was != true || is == true {
		return nil
	}
	return []Denial{{RuleManualResume, "spec.suspend", "only Kueue may resume a TrainJob of this namespace, when it has quota for the job: leave suspend out of manifests"}}
}

// Names of Kueue's default queue and priority class. If a LocalQueue named defaultQueue exists, Kueue's webhook
// selects it for new TrainJobs without a queue. If a WorkloadPriorityClass named defaultPriorityClass exists, the
// webhook selects it for new TrainJobs without a priority class.
const (
	defaultQueue         = "default"
	defaultPriorityClass = "default"
)

var labelsPath = field.NewPath("metadata", "labels")

// unlistedQueue denies all queues except the queues of the tenant. unlistedQueue also denies TrainJobs without a queue,
// because Kueue would neither queue such a TrainJob nor count its resources. If the tenant has the queue defaultQueue,
// a new TrainJob may leave out the queue, because Kueue's webhook then selects defaultQueue. If the tenant has no
// queues, unlistedQueue allows every TrainJob.
func unlistedQueue(job Job, p Parameters) field.ErrorList {
	queue := job.Queue
	if queue == "" && !job.Exists {
		queue = defaultQueue
	}
	if len(p.Queues) == 0 || slices.Contains(p.Queues, queue) {
		return nil
	}
	got := "no queue"
	if job.Queue != "" {
		got = printableName(job.Queue)
	}
	return newViolation(labelsPath, "label %s: want %s, got %s", queueLabel, strings.Join(p.Queues, " or "), got)
}

// unlistedPriorityClass denies priority classes that the tenant does not list, except defaultPriorityClass. A job of
// a higher priority can preempt the jobs of other tenants.
func unlistedPriorityClass(job Job, p Parameters) field.ErrorList {
	if job.PriorityClass == "" || job.PriorityClass == defaultPriorityClass || slices.Contains(p.PriorityClasses, job.PriorityClass) {
		return nil
	}
	offer := ""
	if len(p.PriorityClasses) > 0 {
		offer = ", or name one of: " + strings.Join(p.PriorityClasses, ", ")
	}
	return newViolation(labelsPath, "label %s: %s is not a priority class of this namespace: leave it out%s", priorityClassLabel, printableName(job.PriorityClass), offer)
}

// unmanagedNamespace denies TrainJobs in a namespace that lacks the label p.NamespaceLabel. Red Hat's build of Kueue
// ignores the jobs of such a namespace. If the labels of the namespace are unknown, unmanagedNamespace denies
// nothing.
func unmanagedNamespace(job Job, p Parameters) field.ErrorList {
	key, value, required := strings.Cut(p.NamespaceLabel, "=")
	if got, found := job.NamespaceLabels[key]; !required || job.NamespaceLabels == nil || found && got == value {
		return nil
	}
	return newViolation(field.NewPath("metadata", "namespace"), "the namespace lacks the label %s, without which Kueue ignores its jobs: ask an admin to add the label", p.NamespaceLabel)
}
