// Package matrix builds one TrainJob for each combination of a tenant, a runtime and a queue of a generated platform.
// Tests submit the TrainJobs to check that every combination works.
package matrix

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/api/v1alpha1"
)

// Tenants returns the namespaces of all tenants. Each tenant has a ConfigMap with parameters of the admission policy.
// The function Tenants reads the namespace of the tenant from a label of this ConfigMap.
func Tenants(objs []client.Object) []string {
	var tenants []string
	for _, obj := range objs {
		if tenant := obj.GetLabels()[v1alpha1.TenantLabel]; tenant != "" && kind(obj) == "ConfigMap" {
			tenants = append(tenants, tenant)
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(tenants)))
}

// Editors returns the groups that may submit TrainJobs in a namespace.
func Editors(objs []client.Object, tenant string) []string {
	var groups []string
	for _, obj := range objs {
		u := obj.(*unstructured.Unstructured)
		if kind(obj) != "RoleBinding" || obj.GetNamespace() != tenant || obj.GetName() != "trainyard-editor" {
			continue
		}
		subjects, _, _ := unstructured.NestedSlice(u.Object, "subjects")
		for _, subject := range subjects {
			if fields, _ := subject.(map[string]any); fields["kind"] == "Group" {
				groups = append(groups, fmt.Sprint(fields["name"]))
			}
		}
	}
	return groups
}

// Runtimes returns the MPI runtimes among the given objects.
func Runtimes(objs []client.Object) []client.Object {
	return slices.DeleteFunc(slices.Clone(objs), func(obj client.Object) bool {
		_, mpi, _ := unstructured.NestedMap(obj.(*unstructured.Unstructured).Object, "spec", "mlPolicy", "mpi")
		return !mpi || kind(obj) != "ClusterTrainingRuntime" && kind(obj) != "TrainingRuntime"
	})
}

// TrainJobs returns one TrainJob for each combination of a queue and a runtime. The queues are the LocalQueues in the
// tenant's namespace. The runtimes are the MPI runtimes that the tenant may use.
func TrainJobs(objs []client.Object, tenant string) []*unstructured.Unstructured {
	var jobs []*unstructured.Unstructured
	for _, queue := range objs {
		if kind(queue) != "LocalQueue" || queue.GetNamespace() != tenant {
			continue
		}
		for _, runtime := range Runtimes(objs) {
			if listsRuntime(objs, tenant, runtime) {
				jobs = append(jobs, trainJob(fmt.Sprintf("job-%d", len(jobs)), tenant, queue.GetName(), runtime))
			}
		}
	}
	return jobs
}

func trainJob(name, namespace, queue string, runtime client.Object) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.TrainerAPIVersion, "kind": "TrainJob",
		"metadata": map[string]any{"name": name, "namespace": namespace, "labels": map[string]any{"kueue.x-k8s.io/queue-name": queue}},
		"spec":     map[string]any{"runtimeRef": map[string]any{"kind": kind(runtime), "name": runtime.GetName()}},
	}}
}

// listsRuntime reports whether a tenant may use a runtime. The tenant's ConfigMap with parameters of the admission
// policy must list the runtime. If the runtime is a TrainingRuntime, the runtime must also be in the tenant's
// namespace.
func listsRuntime(objs []client.Object, tenant string, runtime client.Object) bool {
	return slices.ContainsFunc(objs, func(obj client.Object) bool {
		listed, _, _ := unstructured.NestedString(obj.(*unstructured.Unstructured).Object, "data", runtime.GetName()+".kind")
		return obj.GetLabels()[v1alpha1.TenantLabel] == tenant && listed == kind(runtime) &&
			(runtime.GetNamespace() == "" || runtime.GetNamespace() == tenant)
	})
}

func kind(obj client.Object) string { return obj.GetObjectKind().GroupVersionKind().Kind }
