package offline_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard/policies/cases"
	"github.com/trainyard/trainyard/policies/internal/acme"
	"github.com/trainyard/trainyard/policies/offline"
)

// later are places of a TrainJob, with a field that no Trainer has yet where it says LATER.
var later = map[string]struct{ rule, spec string }{
	"a job":                     {"fields", `LATER: a`},
	"a reference":               {"fields", `runtimeRef: {name: mpi-openmpi-cpu, LATER: a}`},
	"a trainer":                 {"fields", `trainer: {LATER: a}`},
	"resources":                 {"fields", `trainer: {resourcesPerNode: {LATER: a}}`},
	"an initializer's kind":     {"fields", `initializer: {LATER: {}}`},
	"an initializer":            {"fields", `initializer: {model: {LATER: a}}`},
	"a source":                  {"env-sources", `trainer: {env: [{name: A, valueFrom: {LATER: {key: a}}}]}`},
	"an initializer's source":   {"env-sources", `initializer: {dataset: {env: [{name: A, valueFrom: {LATER: {key: a}}}]}}`},
	"an override":               {"patch-fields", `podTemplateOverrides: [{targetJobs: [{name: node}], LATER: a}]`},
	"a patch":                   {"patch-fields", `runtimePatches: [{LATER: a}]`},
	"a patched runtime":         {"patch-fields", `runtimePatches: [{trainingRuntimeSpec: {LATER: a}}]`},
	"a patched template":        {"patch-fields", `runtimePatches: [{trainingRuntimeSpec: {template: {LATER: a}}}]`},
	"what a JobSet is called":   {"patch-fields", `runtimePatches: [{trainingRuntimeSpec: {template: {metadata: {LATER: a}}}}]`},
	"a patched JobSet":          {"patch-fields", `runtimePatches: [{trainingRuntimeSpec: {template: {spec: {LATER: a}}}}]`},
	"a patched job":             {"patch-fields", ofJob(`name: node, LATER: a`)},
	"a patched job's template":  {"patch-fields", ofJob(`name: node, template: {LATER: a}`)},
	"what a Job is called":      {"patch-fields", ofJob(`name: node, template: {metadata: {LATER: a}}`)},
	"a patched Job":             {"patch-fields", ofJob(`name: node, template: {spec: {LATER: a}}`)},
	"a patched pod template":    {"patch-fields", ofJob(`name: node, template: {spec: {template: {LATER: a}}}`)},
	"what a pod is called":      {"patch-fields", ofPod(`metadata: {LATER: a}`)},
	"a patched pod":             {"patch-fields", ofPod(`spec: {LATER: a}`)},
	"a patched container":       {"patch-fields", ofPod(`spec: {containers: [{name: node, LATER: a}]}`)},
	"a patched init container":  {"patch-fields", ofPod(`spec: {initContainers: [{name: identity, LATER: a}]}`)},
	"a mount":                   {"patch-fields", ofPod(`spec: {containers: [{name: node, volumeMounts: [{name: a, LATER: a}]}]}`)},
	"a mount in init":           {"patch-fields", ofPod(`spec: {initContainers: [{name: identity, volumeMounts: [{name: a, LATER: a}]}]}`)},
	"a variable":                {"fields", `trainer: {env: [{name: A, LATER: a}]}`},
	"an initializer's variable": {"fields", `initializer: {model: {env: [{name: A, LATER: a}]}}`},
	"a key of a Secret":         {"fields", `trainer: {env: [{name: A, valueFrom: {secretKeyRef: {name: a, key: a, LATER: a}}}]}`},
	"an initializer's Secret":   {"fields", `initializer: {dataset: {secretRef: {name: a, LATER: a}}}`},
	"whom an override is for":   {"patch-fields", `podTemplateOverrides: [{targetJobs: [{name: node, LATER: a}]}]`},
	"a patched variable":        {"patch-fields", ofPod(`spec: {containers: [{name: node, env: [{name: A, LATER: a}]}]}`)},
	"a patched field of a pod":  {"patch-fields", ofPod(`spec: {initContainers: [{name: identity, env: [{name: A, valueFrom: {fieldRef: {fieldPath: a, LATER: a}}}]}]}`)},
	"a claim":                   {"patch-fields", ofPod(`spec: {volumes: [{name: a, persistentVolumeClaim: {claimName: a, LATER: a}}]}`)},
	"a Secret's files":          {"patch-fields", ofPod(`spec: {volumes: [{name: a, secret: {secretName: a, LATER: a}}]}`)},
	"memory for files":          {"patch-fields", ofPod(`spec: {volumes: [{name: a, emptyDir: {LATER: a}}]}`)},
	"a projected Secret":        {"patch-fields", ofPod(`spec: {volumes: [{name: a, projected: {sources: [{secret: {name: a, LATER: a}}]}}]}`)},
	"a patched source":          {"env-sources", ofPod(`spec: {initContainers: [{name: identity, env: [{name: A, valueFrom: {LATER: {key: a}}}]}]}`)},
	"a volume":                  {"patch-volumes", ofPod(`spec: {volumes: [{name: a, LATER: {}}]}`)},
	"a projected volume":        {"patch-volumes", ofPod(`spec: {volumes: [{name: a, projected: {LATER: a}}]}`)},
	"a source of projections":   {"patch-volumes", ofPod(`spec: {volumes: [{name: a, projected: {sources: [{LATER: {}}]}}]}`)},
	"an override's volume":      {"patch-volumes", `podTemplateOverrides: [{targetJobs: [{name: node}], spec: {volumes: [{name: a, LATER: {}}]}}]`},
	"an override's container":   {"patch-fields", `podTemplateOverrides: [{targetJobs: [{name: node}], spec: {containers: [{name: node, LATER: a}]}}]`},
	"what an override is named": {"patch-fields", `podTemplateOverrides: [{targetJobs: [{name: node}], metadata: {LATER: a}}]`},
}

func ofJob(fields string) string {
	return `runtimePatches: [{trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{` + fields + `}]}}}}]`
}

func ofPod(fields string) string {
	return ofJob(`name: node, template: {spec: {template: {` + fields + `}}}`)
}

// TestFieldsOfLaterTrainersAreRefused: wherever a later Trainer brings a field, the policy refuses it
// until somebody has decided on it. No API server of today takes these.
func TestFieldsOfLaterTrainersAreRefused(t *testing.T) {
	policies, err := offline.Compile(acme.Objects(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range later {
		t.Run(name, func(t *testing.T) {
			for field, refused := range map[string]bool{"brandNew": true, "": false} {
				if got := broken(t, policies, tc.spec, field); strings.Contains(got, tc.rule) != refused || !refused && got != "" {
					t.Errorf("with the field %q, %s breaks %q, want %s: %t", field, tc.spec, got, tc.rule, refused)
				}
			}
		})
	}
}

// broken are the rules that a TrainJob breaks with a field, or without any, where its spec says LATER.
func broken(t *testing.T, policies *offline.Policies, spec, field string) string {
	t.Helper()
	c := cases.Case{Name: spec, Tenant: "team-vision"}
	if err := yaml.Unmarshal([]byte("{spec: {"+spec+"}}"), &c.TrainJob); err != nil {
		t.Fatal(err)
	}
	rename(c.TrainJob, field)
	ref := map[string]any{"name": "mpi-openmpi-cpu"}
	if inner := c.TrainJob["spec"].(map[string]any); inner["runtimeRef"] == nil {
		inner["runtimeRef"] = ref
	}
	outcome, err := policies.Try(t.Context(), c.Completed())
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(outcome.Rules, " ")
}

// rename gives the key LATER another name, wherever it is, or takes it away.
func rename(value any, name string) {
	switch value := value.(type) {
	case map[string]any:
		if later, is := value["LATER"]; is {
			delete(value, "LATER")
			if name != "" {
				value[name] = later
			}
		}
		for _, inner := range value {
			rename(inner, name)
		}
	case []any:
		for _, inner := range value {
			rename(inner, name)
		}
	}
}
