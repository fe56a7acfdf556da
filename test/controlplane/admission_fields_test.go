package controlplane_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/policies/cases"
	"github.com/trainyard/trainyard/policies/guard"
	"github.com/trainyard/trainyard/test/controlplane"
	"github.com/trainyard/trainyard/test/guardtest"
)

// TestEvaluatorsAgreeOnEveryField submits TrainJobs that each set one field of Trainer's CRD to a valid or an invalid
// value. Three evaluators must agree on each TrainJob: the API server, the package "offline", and the package
// "guard". The package "offline" evaluates the admission policies without a cluster, and the package "guard"
// implements the admission rules in Go.
func TestEvaluatorsAgreeOnEveryField(t *testing.T) {
	skipUnlessAllTrainers(t) // thousands of TrainJobs
	onEveryVersion(t, func(t *testing.T, v version, cp *controlplane.ControlPlane) {
		e := newEvaluators(t, cp, v, "")
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := cp.Client().Get(t.Context(), client.ObjectKey{Name: "trainjobs.trainer.kubeflow.org"}, crd); err != nil {
			t.Fatal(err)
		}
		verdicts := map[string]int{}
		schema := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
		for s := range fieldSamples(schema) {
			if !v.controllers && strings.Contains(s.path, ".manager") {
				// Skip the field "manager" of patches: only Trainer's webhook checks it, and this control plane has no
				// webhook.
				continue
			}
			verdicts[e.expectAgreement(t, s)]++
		}
		t.Log(verdicts)
		if verdicts[admitted] < 20 || verdicts[invalid] < 20 || len(verdicts) < 6 {
			t.Errorf("the TrainJobs have too few kinds of verdicts: %v", verdicts)
		}
	})
}

// The verdict on a TrainJob is the name of the admission rule that refuses it. If the API server refuses the
// TrainJob for another reason, the verdict is "invalid". Otherwise, the verdict is "admitted".
const (
	admitted = "admitted"
	invalid  = "invalid"
)

// expectAgreement submits a TrainJob whose spec contains all fields of a sample. It checks that the API server and the
// package "guard" agree on the TrainJob, and returns the API server's verdict. The package "offline" must also agree,
// except on TrainJobs with type errors or with the verdict "invalid".
func (e evaluators) expectAgreement(t *testing.T, s fieldSample) string {
	t.Helper()
	job := trainJob("field", "team-vision", "mpi-openmpi-cpu")
	maps.Copy(job["spec"].(map[string]any), s.spec)
	c := cases.Case{Name: s.path, Tenant: "team-vision", TrainJob: job}.Completed()
	message, err := submitAs(t, e.cp, c, "vision", "system:authenticated")
	verdict := admitted
	switch {
	case message != "":
		verdict = readRule(message)
	case err != nil:
		verdict = invalid
	}
	reader, parameters := e.guardFor(t, c.Tenant)
	denials, typeErrors := reader.Check(guard.Request{User: c.User, TrainJob: c.TrainJob}, parameters)
	if verdict == admitted {
		// If a patch lacks a required string, Trainer's webhook adds the field with an empty string. The API server
		// therefore admits the TrainJob, but later refuses the pods of the TrainJob. The package "guard" does not
		// accept such a TrainJob: it reports the missing field. The test permits this difference between "guard" and
		// the API server. For this purpose, the test ignores errors about missing fields.
		typeErrors = slices.DeleteFunc(typeErrors, func(err *field.Error) bool { return err.Type == field.ErrorTypeRequired })
	}
	if accepts := len(typeErrors)+len(denials) == 0; accepts != (verdict == admitted) {
		t.Errorf("%s: guard finds %v %v, the API server says %s (%v): %v", s.path, typeErrors, denials, verdict, err, s.spec)
	}
	if _, all := reader.Read(c.TrainJob); verdict == invalid || len(all) > 0 { // the offline evaluator needs a TrainJob without type errors
		return verdict
	}
	outcome, err := e.offline.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(append(outcome.Messages, "")[0], message); diff != "" {
		t.Errorf("%s: -offline +API server:\n%s", s.path, diff)
	}
	if diff := cmp.Diff(outcome.Rules, guardtest.Rules(t, reader, parameters, c)); diff != "" {
		t.Errorf("%s: -offline +guard:\n%s", s.path, diff)
	}
	return verdict
}

// readRule returns the name of the rule in a message of the admission policy. A message that begins with "breaks the
// rule" is a default message. The API server returns the default message if the rule's own message is too long.
func readRule(message string) string {
	if rest, found := strings.CutPrefix(message, "breaks the rule "); found {
		rule, _, _ := strings.Cut(rest, " ")
		return rule
	}
	_, rest, _ := strings.Cut(message, ": ")
	rule, _, _ := strings.Cut(rest, ": ")
	return rule
}

// fieldSample is the spec of a TrainJob, and the path of the field that this spec sets.
type fieldSample struct {
	path string
	spec map[string]any
}

// fieldSamples returns specs that set each field of a schema to valid and invalid values.
func fieldSamples(schema apiextensionsv1.JSONSchemaProps) func(yield func(fieldSample) bool) {
	return func(yield func(fieldSample) bool) {
		w := fieldWalker{yield: yield}
		w.walkFields("spec", schema, func(spec any) any { return spec }, map[string]any{})
	}
}

type fieldWalker struct{ yield func(fieldSample) bool }

// placement is the type of a function that sets one field of the spec. Each field has its own function of this type.
// The function takes a value, and returns a spec in which the field has this value.
type placement func(any) any

func (w fieldWalker) put(path string, value any, place placement) {
	if spec, ok := runtime.DeepCopyJSONValue(place(value)).(map[string]any); ok {
		w.yield(fieldSample{path, spec})
	}
}

// walkFields yields specs with valid and invalid values of each field of an object. The other fields of the object have
// the values in "base". For each required field in "base", walkFields also yields a spec in which the object lacks this
// field.
func (w fieldWalker) walkFields(path string, schema apiextensionsv1.JSONSchemaProps, place placement, base map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(schema.Properties)) {
		w.value(path+"."+key, schema.Properties[key], func(v any) any {
			object := maps.Clone(base)
			object[key] = v
			return place(object)
		})
	}
	for _, key := range schema.Required {
		if _, given := base[key]; given {
			object := maps.Clone(base)
			delete(object, key)
			w.put(path+" without "+key, object, place)
		}
	}
}

func (w fieldWalker) value(path string, schema apiextensionsv1.JSONSchemaProps, place placement) {
	switch {
	case len(schema.Properties) > 0:
		base, _ := rightValue(path, schema).(map[string]any)
		w.put(path, base, place)
		w.put(path+" as text", "a", place)
		w.walkFields(path, schema, place, base)
	case schema.Items != nil:
		items := *schema.Items.Schema
		item := rightValue(path+"[]", items)
		w.put(path+" twice", []any{item, item}, place)
		w.put(path+" with many items", manyItems(item, schema.XListMapKeys), place)
		w.put(path+" as text", "a", place)
		w.value(path+"[]", items, func(v any) any { return place([]any{v}) })
	case schema.AdditionalProperties != nil:
		w.put(path+" as text", "a", place)
		entries := map[string]any{}
		for i := range 200 {
			entries[fmt.Sprintf("example.com/a%d", i)] = rightValue(path+"{}", *schema.AdditionalProperties.Schema)
		}
		w.put(path+" with many entries", entries, place)
		w.put(path+" with a long key", map[string]any{strings.Repeat("x", 5000): rightValue(path+"{}", *schema.AdditionalProperties.Schema)}, place)
		w.value(path+"{}", *schema.AdditionalProperties.Schema, func(v any) any { return place(map[string]any{"a": v}) })
	default:
		values := []any{rightValue(path, schema), strings.Repeat("x", 5000), "", "a", int64(0), int64(7), int64(-7), int64(1) << 40, true, map[string]any{"a": "b"}}
		if schema.Format == "" {
			// The list below is a value of the wrong type. The test does not use this list if the field has a format,
			// such as date-time. If the format is date-time, the API server accepts a list, and only Trainer's webhook
			// refuses the list. The test runs some versions of Trainer without the webhook. With these versions, the
			// API server could admit a TrainJob that the package "guard" refuses.
			values = append(values, []any{"a"})
		}
		for _, v := range values {
			w.put(fmt.Sprintf("%s = %.20v", path, v), v, place)
		}
	}
}

// manyItems returns a list with 200 items. This number is greater than most values of maxItems in the CRD of TrainJobs.
// For each given key, manyItems sets a different value in each item. The reason is that the API server refuses a list
// in which two items have the same values for these keys.
func manyItems(item any, keys []string) []any {
	var items []any
	for i := range 200 {
		next := runtime.DeepCopyJSONValue(item)
		for _, key := range keys {
			next.(map[string]any)[key] = fmt.Sprintf("example.com/a%d", i)
		}
		items = append(items, next)
	}
	return items
}

// knownValues lists valid values of fields for which the schema allows any string. An entry of knownValues
// applies to each field whose path ends with the path in the entry.
var knownValues = []struct{ path, value string }{
	{"runtimeRef.name", "mpi-openmpi-cpu"}, {"runtimeRef.apiGroup", "trainer.kubeflow.org"}, {"runtimeRef.kind", "ClusterTrainingRuntime"},
	{"replicatedJobs[].name", "node"}, {"targetJobs[].name", "node"}, {"initContainers[].name", "preflight"}, {"containers[].name", "node"},
	{".manager", "acme.example/me"}, {".managedBy", "kueue.x-k8s.io/multikueue"}, {".storageUri", "hf://acme/data"}, {".time", "2026-01-31T12:00:00Z"},
	{".mountPath", "/data"}, {".fieldPath", "metadata.name"}, {".resource", "limits.cpu"},
}

// rightValue returns a value that a schema allows. If the value is an object, it contains only the required fields. As
// an exception, a projected volume also contains the list "sources".
func rightValue(path string, schema apiextensionsv1.JSONSchemaProps) any {
	for _, known := range knownValues {
		if strings.HasSuffix(path, known.path) {
			return known.value
		}
	}
	switch {
	case len(schema.Enum) > 0:
		return strings.Trim(string(schema.Enum[0].Raw), `"`)
	case schema.XIntOrString:
		return int64(1)
	case schema.Type == "integer":
		return int64(1)
	case schema.Type == "boolean":
		return true
	case schema.Type == "array":
		return []any{}
	case schema.Type == "object":
		object := map[string]any{}
		for _, key := range schema.Required {
			object[key] = rightValue(path+"."+key, schema.Properties[key])
		}
		if strings.HasSuffix(path, ".projected") {
			// If the list "sources" were missing, Trainer's webhook would write null, which the API server
			// refuses.
			object["sources"] = []any{}
		}
		return object
	}
	return "a"
}
