// Package cases has TrainJobs with expected verdicts: unit tests of a platform's rules, without
// a cluster. Files of them are read where text has places, in generator/trainjob.
package cases

import (
	"math"

	"github.com/trainyard/trainyard/policies/guard"
)

// What a file of cases says of itself.
const (
	APIVersion = "trainyard.dev/v1alpha1"
	Kind       = "PolicyTest"
)

// What a TrainJob says of itself.
const (
	TrainJobAPI  = "trainer.kubeflow.org/v1alpha1"
	TrainJobKind = "TrainJob"
)

// somebody is who submits where a case does not say.
const somebody = "somebody"

// Case is a TrainJob and what should become of it.
type Case struct {
	// Name is a sentence that says what is tried.
	Name string `json:"name"`
	// Tenant is the namespace that the TrainJob is for.
	Tenant string `json:"tenant"`
	// User submits it; "somebody" by default, who is not exempt from anything.
	User string `json:"user,omitempty"`
	// Before is the TrainJob that is updated; without it, one is created.
	Before map[string]any `json:"before,omitempty"`
	// TrainJob is the TrainJob; its apiVersion, kind, name and namespace may be left out.
	TrainJob map[string]any `json:"trainJob"`
	// Admitted says that it is admitted, and Refused by which rules it is not, in their order; one of both is given.
	Admitted bool     `json:"admitted,omitempty"`
	Refused  []string `json:"refused,omitempty"`
	// Says is what the message for the first of these rules must have in it.
	Says string `json:"says,omitempty"`
}

// Completed is a case with integers for numbers that are, and whatever may be left out.
func (c Case) Completed() Case {
	if c.User == "" {
		c.User = somebody
	}
	c.Before, _ = whole(c.Before).(map[string]any)
	c.TrainJob, _ = whole(c.TrainJob).(map[string]any)
	for _, job := range []map[string]any{c.Before, c.TrainJob} {
		complete(job, c.Tenant)
	}
	return c
}

// whole makes integers of numbers that are, as the API server has them.
func whole(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			value[key] = whole(inner)
		}
	case []any:
		for i, inner := range value {
			value[i] = whole(inner)
		}
	case float64:
		if value == math.Trunc(value) && math.Abs(value) < 1<<53 {
			return int64(value)
		}
	}
	return value
}

// complete fills in what every TrainJob says of itself, and what the API server defaults.
func complete(job map[string]any, tenant string) {
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
	fill(job, "apiVersion", TrainJobAPI)
	fill(job, "kind", TrainJobKind)
	if metadata := fill(job, "metadata", map[string]any{}); metadata != nil {
		name := "job"
		if prefix, _ := metadata["generateName"].(string); prefix != "" {
			name = guard.Generated(prefix)
		}
		fill(metadata, "name", name)
		fill(metadata, "namespace", tenant)
	}
	spec := fill(job, "spec", map[string]any{})
	if spec == nil {
		return
	}
	fill(spec, "managedBy", "trainer.kubeflow.org/trainjob-controller")
	if ref := fill(spec, "runtimeRef", map[string]any{}); ref != nil {
		fill(ref, "apiGroup", "trainer.kubeflow.org")
		fill(ref, "kind", "ClusterTrainingRuntime")
	}
}
