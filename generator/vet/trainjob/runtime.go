package trainjob

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/generator/object"
)

// runtimeObject holds the properties that vet reads from the Kubernetes object of a runtime. The parameters of a tenant
// contain only one of these properties, the kind.
type runtimeObject struct {
	kind           string
	launcherIsNode bool                         // whether ranks run in the launcher
	oversubscribes bool                         // whether the preflight check accepts more processes than CPUs or GPUs
	countsCPUs     bool                         // whether the preflight check compares the processes of a host with its CPUs
	launcher, node map[string]resource.Quantity // the limits of the containers that run ranks
}

// readRuntime reads a runtime. The result "ok" is true only if the object is a runtime, has the label that trainyard
// gives to MPI runtimes, and has a launcher.
func readRuntime(o object.Object) (r runtimeObject, ok bool) {
	r.kind = o.ID().Kind
	if o.Label(v1alpha1.MPILabel) == "" || !strings.HasSuffix(r.kind, "TrainingRuntime") {
		return r, false
	}
	r.launcherIsNode, _, _ = unstructured.NestedBool(o.Fields(), "spec", "mlPolicy", "mpi", "runLauncherAsNode")
	var launcher any
	for _, job := range listAt(o.Fields(), "spec", "template", "spec", "replicatedJobs") {
		switch nameIn(job) {
		case "launcher":
			launcher, r.launcher = job, limitsIn(job)
		case "node":
			r.node = limitsIn(job)
		}
	}
	// If the launcher has no preflight check, oversubscribes is true. In this case, nothing compares the number of
	// processes with the number of CPUs or GPUs, and MPI starts all processes.
	r.oversubscribes = preflightVariable(launcher, "PREFLIGHT_OVERSUBSCRIBE") != "false"
	r.countsCPUs = strings.Contains(preflightVariable(launcher, "PREFLIGHT_SLOTS_COMMAND"), "/cpus")
	return r, launcher != nil
}

// limitsIn returns the limits of the container "node" of a ReplicatedJob. Trainer uses the container name "node" in all
// pods that run ranks, including the launcher. limitsIn omits invalid quantities.
func limitsIn(job any) map[string]resource.Quantity {
	limits := map[string]resource.Quantity{}
	for _, container := range listAt(job, "template", "spec", "template", "spec", "containers") {
		fields, _ := container.(map[string]any)
		given, _, _ := unstructured.NestedMap(fields, "resources", "limits")
		for name, amount := range given {
			if quantity, err := resource.ParseQuantity(fmt.Sprint(amount)); err == nil && nameIn(container) == "node" {
				limits[name] = quantity
			}
		}
	}
	return limits
}

// preflightVariable returns the value of an environment variable in the init container "preflight". If the container or
// the variable does not exist, the result is "".
func preflightVariable(launcher any, name string) string {
	containers := listAt(launcher, "template", "spec", "template", "spec", "initContainers")
	if i := slices.IndexFunc(containers, func(c any) bool { return nameIn(c) == "preflight" }); i >= 0 {
		for _, variable := range listAt(containers[i], "env") {
			if nameIn(variable) == name {
				fields, _ := variable.(map[string]any)
				value, _ := fields["value"].(string)
				return value
			}
		}
	}
	return ""
}

// nameIn returns the field "name" of a list item, or "" if the item has no name.
func nameIn(item any) string {
	fields, _ := item.(map[string]any)
	name, _ := fields["name"].(string)
	return name
}

// listAt returns the list at a path in a JSON object, or nil if there is no list.
func listAt(object any, path ...string) []any {
	fields, _ := object.(map[string]any)
	value, _, _ := unstructured.NestedFieldNoCopy(fields, path...)
	list, _ := value.([]any)
	return list
}
