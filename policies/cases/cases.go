// Package cases defines policy tests. A policy test contains TrainJobs, and the result that the admission rules of a
// platform must give for each TrainJob. Trainyard evaluates the rules without a cluster.
package cases

import (
	"math"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/policies/guard"
)

// Kind is the value of the field "kind" in a file of policy tests. TrainJobKind is the value of the field
// "kind" in a TrainJob.
const (
	Kind         = "PolicyTest"
	TrainJobKind = "TrainJob"
)

// defaultUser is the user who submits a TrainJob if the case names no user.
const defaultUser = "somebody"

// Case is a TrainJob and its expected result.
type Case struct {
	// Name describes the case in a sentence.
	Name string `json:"name"`
	// Tenant is the namespace to which the TrainJob is submitted.
	Tenant string `json:"tenant"`
	// User is the name of the user who submits the TrainJob. The default user "somebody" is not exempt from any rule.
	User string `json:"user,omitempty"`
	// Before holds the old state of the TrainJob, if the case updates the TrainJob. If the field Before is not set, the
	// case creates the TrainJob.
	Before map[string]any `json:"before,omitempty"`
	// NamespaceLabels holds the labels of the tenant's namespace. By default, the namespace has the labels that the rules
	// require.
	NamespaceLabels map[string]string `json:"namespaceLabels,omitempty"`
	// TrainJob is the submitted TrainJob. The TrainJob's apiVersion, kind, name and namespace are optional.
	TrainJob map[string]any `json:"trainJob"`
	// If Admitted is true, the TrainJob must be admitted. If Admitted is false, Refused lists the rules that must
	// refuse the TrainJob, in the order of evaluation.
	Admitted bool     `json:"admitted,omitempty"`
	Refused  []string `json:"refused,omitempty"`
	// Says is the expected text of a message: the message of the first rule in Refused must contain this text.
	Says string `json:"says,omitempty"`
}

// Completed is a method that adds missing values to a case: the default user, and the defaults of the case's TrainJobs.
// In the TrainJobs, the method also converts floats without a fraction to integers.
func (c Case) Completed() Case {
	if c.User == "" {
		c.User = defaultUser
	}
	c.Before, _ = wholeNumbers(c.Before).(map[string]any)
	c.TrainJob, _ = wholeNumbers(c.TrainJob).(map[string]any)
	for _, job := range []map[string]any{c.Before, c.TrainJob} {
		setDefaults(job, c.Tenant)
	}
	return c
}

// wholeNumbers converts integral floats to int64, as the API server does.
func wholeNumbers(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			value[key] = wholeNumbers(inner)
		}
	case []any:
		for i, inner := range value {
			value[i] = wholeNumbers(inner)
		}
	case float64:
		if value == math.Trunc(value) && math.Abs(value) < 1<<53 {
			return int64(value)
		}
	}
	return value
}

// setDefaults sets missing fields of a TrainJob: fields for which the API server has a default value, and fields that
// every TrainJob needs.
func setDefaults(job map[string]any, tenant string) {
	if job == nil {
		return
	}
	fill := func(in map[string]any, key string, value any) map[string]any {
		if in[key] == nil {
			in[key] = value
		}
		inner, _ := in[key].(map[string]any)
		return inner
	}
	fill(job, "apiVersion", v1alpha1.TrainerAPIVersion)
	fill(job, "kind", TrainJobKind)
	if metadata := fill(job, "metadata", map[string]any{}); metadata != nil {
		name := "job"
		if prefix, _ := metadata["generateName"].(string); prefix != "" {
			name = guard.GeneratedName(prefix)
		}
		fill(metadata, "name", name)
		fill(metadata, "namespace", tenant)
	}
	spec := fill(job, "spec", map[string]any{})
	if spec == nil {
		return
	}
	fill(spec, "managedBy", v1alpha1.TrainJobController)
	fill(spec, "suspend", false)
	if ref := fill(spec, "runtimeRef", map[string]any{}); ref != nil {
		fill(ref, "apiGroup", v1alpha1.TrainerGroup)
		fill(ref, "kind", "ClusterTrainingRuntime")
	}
}
