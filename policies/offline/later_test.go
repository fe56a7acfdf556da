package offline_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard/policies/cases"
	"github.com/trainyard/trainyard/policies/offline"
	"github.com/trainyard/trainyard/test/guardtest"
)

// laterSpecs lists specs of TrainJobs, each with an unknown field named LATER. The field "rule" names the rule that
// refuses LATER.
var laterSpecs = map[string]struct{ rule, spec string }{
	"a job":                        {"disallowed-field", `LATER: a`},
	"a reference":                  {"disallowed-field", `runtimeRef: {name: mpi-openmpi-cpu, LATER: a}`},
	"a trainer":                    {"disallowed-field", `trainer: {LATER: a}`},
	"resources":                    {"disallowed-field", `trainer: {resourcesPerNode: {LATER: a}}`},
	"a kind of initializer":        {"disallowed-field", `initializer: {LATER: {}}`},
	"an initializer":               {"disallowed-field", `initializer: {model: {LATER: a}}`},
	"a source of a variable":       {"disallowed-variable-source", `trainer: {env: [{name: A, valueFrom: {LATER: {key: a}}}]}`},
	"an initializer's source":      {"disallowed-variable-source", `initializer: {dataset: {env: [{name: A, valueFrom: {LATER: {key: a}}}]}}`},
	"an override":                  {"disallowed-patch-field", `podTemplateOverrides: [{targetJobs: [{name: node}], LATER: a}]`},
	"a patch":                      {"disallowed-patch-field", `runtimePatches: [{LATER: a}]`},
	"a patched runtime":            {"disallowed-patch-field", `runtimePatches: [{trainingRuntimeSpec: {LATER: a}}]`},
	"a patched template":           {"disallowed-patch-field", `runtimePatches: [{trainingRuntimeSpec: {template: {LATER: a}}}]`},
	"metadata of a JobSet":         {"disallowed-patch-field", `runtimePatches: [{trainingRuntimeSpec: {template: {metadata: {LATER: a}}}}]`},
	"a patched JobSet":             {"disallowed-patch-field", `runtimePatches: [{trainingRuntimeSpec: {template: {spec: {LATER: a}}}}]`},
	"a patched job":                {"disallowed-patch-field", ofJob(`name: node, LATER: a`)},
	"a patched job's template":     {"disallowed-patch-field", ofJob(`name: node, template: {LATER: a}`)},
	"metadata of a Job":            {"disallowed-patch-field", ofJob(`name: node, template: {metadata: {LATER: a}}`)},
	"a patched Job":                {"disallowed-patch-field", ofJob(`name: node, template: {spec: {LATER: a}}`)},
	"a patched pod template":       {"disallowed-patch-field", ofJob(`name: node, template: {spec: {template: {LATER: a}}}`)},
	"metadata of a pod":            {"disallowed-patch-field", ofPod(`metadata: {LATER: a}`)},
	"a patched pod":                {"disallowed-patch-field", ofPod(`spec: {LATER: a}`)},
	"a patched container":          {"disallowed-patch-field", ofPod(`spec: {containers: [{name: node, LATER: a}]}`)},
	"a patched init container":     {"disallowed-patch-field", ofPod(`spec: {initContainers: [{name: identity, LATER: a}]}`)},
	"a mount":                      {"disallowed-patch-field", ofPod(`spec: {containers: [{name: node, volumeMounts: [{name: a, LATER: a}]}]}`)},
	"a mount of an init container": {"disallowed-patch-field", ofPod(`spec: {initContainers: [{name: identity, volumeMounts: [{name: a, LATER: a}]}]}`)},
	"a variable":                   {"disallowed-field", `trainer: {env: [{name: A, LATER: a}]}`},
	"an initializer's variable":    {"disallowed-field", `initializer: {model: {env: [{name: A, LATER: a}]}}`},
	"a key of a Secret":            {"disallowed-field", `trainer: {env: [{name: A, valueFrom: {secretKeyRef: {name: a, key: a, LATER: a}}}]}`},
	"an initializer's Secret":      {"disallowed-field", `initializer: {dataset: {secretRef: {name: a, LATER: a}}}`},
	"a target of an override":      {"disallowed-patch-field", `podTemplateOverrides: [{targetJobs: [{name: node, LATER: a}]}]`},
	"a patched variable":           {"disallowed-patch-field", ofPod(`spec: {initContainers: [{name: identity, env: [{name: A, LATER: a}]}]}`)},
	"a patched field of a pod":     {"disallowed-patch-field", ofPod(`spec: {initContainers: [{name: identity, env: [{name: A, valueFrom: {fieldRef: {fieldPath: a, LATER: a}}}]}]}`)},
	"a claim":                      {"disallowed-patch-field", ofPod(`spec: {volumes: [{name: a, persistentVolumeClaim: {claimName: a, LATER: a}}]}`)},
	"a volume of a Secret":         {"disallowed-patch-field", ofPod(`spec: {volumes: [{name: a, secret: {secretName: a, LATER: a}}]}`)},
	"an emptyDir volume":           {"disallowed-patch-field", ofPod(`spec: {volumes: [{name: a, emptyDir: {LATER: a}}]}`)},
	"a projected Secret":           {"disallowed-patch-field", ofPod(`spec: {volumes: [{name: a, projected: {sources: [{secret: {name: a, LATER: a}}]}}]}`)},
	"a patched source":             {"disallowed-variable-source", ofPod(`spec: {initContainers: [{name: identity, env: [{name: A, valueFrom: {LATER: {key: a}}}]}]}`)},
	"a volume":                     {"disallowed-volume", ofPod(`spec: {volumes: [{name: a, LATER: {}}]}`)},
	"a projected volume":           {"disallowed-volume", ofPod(`spec: {volumes: [{name: a, projected: {LATER: a}}]}`)},
	"a source of projections":      {"disallowed-volume", ofPod(`spec: {volumes: [{name: a, projected: {sources: [{LATER: {}}]}}]}`)},
	"an override's volume":         {"disallowed-volume", `podTemplateOverrides: [{targetJobs: [{name: node}], spec: {volumes: [{name: a, LATER: {}}]}}]`},
	"an override's container":      {"disallowed-patch-field", `podTemplateOverrides: [{targetJobs: [{name: node}], spec: {containers: [{name: node, LATER: a}]}}]`},
	"metadata of an override":      {"disallowed-patch-field", `podTemplateOverrides: [{targetJobs: [{name: node}], metadata: {LATER: a}}]`},
}

func ofJob(fields string) string {
	return `runtimePatches: [{trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{` + fields + `}]}}}}]`
}

func ofPod(fields string) string {
	return ofJob(`name: node, template: {spec: {template: {` + fields + `}}}`)
}

// TestFieldsOfLaterTrainersAreRefused checks that the policy refuses unknown fields at every level of a TrainJob. A
// later version of Trainer can add such fields. The test uses no real API server, because an API server drops all
// fields that its CRDs do not contain.
func TestFieldsOfLaterTrainersAreRefused(t *testing.T) {
	policies, err := offline.Compile(guardtest.Objects(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range laterSpecs {
		t.Run(name, func(t *testing.T) {
			for field, refused := range map[string]bool{"brandNew": true, "": false} {
				if got := brokenRules(t, policies, tc.spec, field); strings.Contains(got, tc.rule) != refused || !refused && got != "" {
					t.Errorf("with the field %q, %s breaks the rules %q, want the rule %s among them: %t", field, tc.spec, got, tc.rule, refused)
				}
			}
		})
	}
}

// brokenRules builds a TrainJob from a spec, and returns the rules that the TrainJob breaks. In the spec, LATER is a
// placeholder for the name of a field. brokenRules replaces LATER by the argument "field". If the argument "field" is
// empty, brokenRules removes the field LATER.
func brokenRules(t *testing.T, policies *offline.Policies, spec, field string) string {
	t.Helper()
	c := cases.Case{Name: spec, Tenant: "team-vision"}
	if err := yaml.Unmarshal([]byte("{spec: {"+spec+"}}"), &c.TrainJob); err != nil {
		t.Fatal(err)
	}
	renameLater(c.TrainJob, field)
	ref := map[string]any{"name": "mpi-openmpi-gpu-data", "kind": "TrainingRuntime"} // a runtime with both initializers
	if inner := c.TrainJob["spec"].(map[string]any); inner["runtimeRef"] == nil {
		inner["runtimeRef"] = ref
	}
	outcome, err := policies.Run(t.Context(), c.Completed())
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(outcome.Rules, " ")
}

func renameLater(value any, name string) {
	switch value := value.(type) {
	case map[string]any:
		if later, found := value["LATER"]; found {
			delete(value, "LATER")
			if name != "" {
				value[name] = later
			}
		}
		for _, inner := range value {
			renameLater(inner, name)
		}
	case []any:
		for _, inner := range value {
			renameLater(inner, name)
		}
	}
}
