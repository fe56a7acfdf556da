package guard

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard/api/v1alpha1"
)

// defaultLimits holds the parameters of the tenant in tests. The function limitsWith returns a copy of defaultLimits
// with changed values for some parameters.
var defaultLimits = map[string]string{
	"ownRuntimes": "false", "exempt": "", "labels": "team cost.acme.example/centre", "annotations": "kueue.x-k8s.io/podset-group-name", "nodeLabels": "zone",
	"managers": v1alpha1.TrainJobController, "encryption": "none", "queues": "", "priorityClasses": "", "namespaceLabel": "",
	"mpi.kind": "ClusterTrainingRuntime", "mpi.initializers": "dataset model", "team-mpi.initializers": "", "mpi.image": "quay.io/acme/mpi:1", "mpi.maxNodes": "8", "mpi.maxProcPerNode": "4",
	"mpi.maxGPUsPerNode": "4", "mpi.numProcPerNode": "1", "mpi.gpus": "nvidia.com/gpu=2", "mpi.maxName": "44",
	"team-mpi.kind": "TrainingRuntime", "team-mpi.image": "quay.io/acme/mpi:2", "team-mpi.maxNodes": "2", "team-mpi.maxProcPerNode": "4",
	"team-mpi.maxGPUsPerNode": "0", "team-mpi.numProcPerNode": "4", "team-mpi.gpus": "", "team-mpi.maxName": "44",
	"_own.maxNodes": "3", "_own.maxProcPerNode": "4", "_own.maxGPUsPerNode": "1", "_own.numProcPerNode": "1", "_own.gpus": "", "_own.maxName": "44",
}

func limitsWith(pairs ...string) map[string]string {
	other := maps.Clone(defaultLimits)
	for pair := range slices.Chunk(pairs, 2) {
		other[pair[0]] = pair[1]
	}
	return other
}

func parameters(t testing.TB, data map[string]string) Parameters {
	t.Helper()
	p, err := ReadParameters(data)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// submittedJob contains parts of a TrainJob as YAML. If the metadata is empty or runtimeRef is missing, the method
// "job" adds default values. The field "pod" contains a patch for the pods of the ReplicatedJob "node". The method
// "job" writes this patch to the field podTemplateOverrides for Trainer 2.1, and to the field runtimePatches for
// later versions.
type submittedJob struct{ metadata, spec, pod, manager string }

func (s submittedJob) job(t testing.TB, version string) map[string]any {
	t.Helper()
	spec := parse(t, s.spec)
	if _, ok := spec["runtimeRef"]; !ok {
		spec["runtimeRef"] = map[string]any{"name": "mpi"}
	}
	if s.pod != "" {
		path, patches := patching21(parse(t, s.pod))
		if version != "2.1" {
			path, patches = patching22(parse(t, s.pod))
		}
		if s.manager != "" && version != "2.1" {
			patches.([]any)[0].(map[string]any)["manager"] = s.manager
		}
		spec[path] = patches
	}
	metadata := parse(t, s.metadata)
	if len(metadata) == 0 {
		metadata["name"] = "train"
	}
	return map[string]any{"apiVersion": v1alpha1.TrainerAPIVersion, "kind": "TrainJob", "metadata": metadata, "spec": spec}
}

func patching21(pod map[string]any) (string, any) {
	pod["targetJobs"] = []any{map[string]any{"name": "node"}}
	return "podTemplateOverrides", []any{pod}
}

func patching22(pod map[string]any) (string, any) {
	job := map[string]any{"name": "node", "template": map[string]any{"spec": map[string]any{"template": pod}}}
	jobSet := map[string]any{"spec": map[string]any{"replicatedJobs": []any{job}}}
	return "runtimePatches", []any{map[string]any{"manager": "acme.example/me", "trainingRuntimeSpec": map[string]any{"template": jobSet}}}
}

func parse(t testing.TB, text string) map[string]any {
	t.Helper()
	fields := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &fields); err != nil {
		t.Fatalf("reading %s: %v", text, err)
	}
	return fields
}

func check(t testing.TB, version string, fields map[string]any, p Parameters) []Denial {
	t.Helper()
	reader, err := ReaderFor(version)
	if err != nil {
		t.Fatal(err)
	}
	job, errs := reader.Read(fields)
	if len(errs) > 0 {
		t.Fatalf("Read(): %v", errs.ToAggregate())
	}
	return Check(job, p)
}

var versions = []string{"2.1", "2.2", "2.3"}

func TestRules(t *testing.T) {
	tested := map[Rule]bool{}
	for name, tc := range cases {
		for _, version := range versions {
			if tc.only != "" && !strings.Contains(tc.only, version) {
				continue
			}
			data := defaultLimits
			if tc.data != nil {
				data = tc.data
			}
			t.Run(name+" in Trainer "+version, func(t *testing.T) {
				tc.testRule(t, version, parameters(t, data))
			})
		}
		tested[tc.rule] = true
	}
	for _, rule := range Rules() {
		if !tested[rule.Rule] && !slices.Contains([]Rule{RuleOrphaningDeletion, RuleOwnedJobSet, RuleUnmanagedNamespace, RuleRemovedQueuePatch, RuleManualResume}, rule.Rule) {
			t.Errorf("no case is about the rule %s", rule.Rule)
		}
	}
}

// testRule checks the TrainJobs in two fields of a case. The TrainJobs in the field "accepts" must break no rule. Each
// TrainJob in the field "refuses" must break the rule in the field "rule", and no other rule.
func (tc ruleCase) testRule(t *testing.T, version string, p Parameters) {
	for _, s := range tc.accepts {
		if denials := check(t, version, s.job(t, version), p); len(denials) > 0 {
			t.Errorf("%+v is denied: %v", s, denials)
		}
	}
	for _, s := range tc.refuses {
		denials := check(t, version, s.job(t, version), p)
		if len(denials) == 0 {
			t.Errorf("%+v is allowed", s)
		}
		for _, d := range denials {
			if d.Rule != tc.rule || !strings.HasPrefix(d.Path, tc.at) || !strings.Contains(d.Message, tc.says) || !givesAdvice(d.Message) {
				t.Errorf("%+v is denied with %v, want a denial by %s at %s that contains %q and what to change", s, d, tc.rule, tc.at, tc.says)
			}
		}
	}
}

func givesAdvice(message string) bool {
	return slices.ContainsFunc([]string{"leave", "write ", "want ", "name one of", "use a", "set ", "move data", "it has none"}, func(word string) bool {
		return strings.Contains(message, word)
	})
}

func TestAllViolationsAreReported(t *testing.T) {
	s := submittedJob{
		spec: `{runtimeRef: {name: mpi}, nodes: 3, trainer: {numNodes: 9, image: other, env: [{name: OMPI_MCA_plm_rsh_args, value: x}]}}`,
		pod:  `{metadata: {labels: {app: x, app2: z}}, spec: {nodeSelector: {gpu: a}, affinity: {}, volumes: [{name: tmp, hostPath: {path: /}}]}}`,
	}
	var got []string
	for _, d := range check(t, "2.1", s.job(t, "2.1"), parameters(t, defaultLimits)) {
		got = append(got, d.Path+" "+string(d.Rule))
	}
	want := []string{
		"spec.nodes disallowed-field",
		"spec.trainer.numNodes node-limit",
		"spec.trainer.image image-mismatch",
		"spec.trainer.env[0].name reserved-variable",
		"spec.podTemplateOverrides[0].spec.affinity disallowed-patch-field",
		"spec.podTemplateOverrides[0].spec.volumes[0].hostPath disallowed-volume",
		"spec.podTemplateOverrides[0].spec.volumes[0].name disallowed-volume",
		"spec.podTemplateOverrides[0].metadata.labels[app] unlisted-label",
		"spec.podTemplateOverrides[0].metadata.labels[app2] unlisted-label",
		"spec.podTemplateOverrides[0].spec.nodeSelector[gpu] unlisted-node-label",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestTypeErrorsAreNotDenials(t *testing.T) {
	cases := map[string]struct{ spec, want string }{
		"a number in quotes":                 {`{trainer: {numNodes: "2"}}`, "spec.trainer.numNodes"},
		"a number above the range":           {`{trainer: {numNodes: 3000000000}}`, "spec.trainer.numNodes"},
		"a fraction of a node":               {`{trainer: {numNodes: 1.5}}`, "spec.trainer.numNodes"},
		"a fraction of a CPU without quotes": {`{trainer: {resourcesPerNode: {limits: {cpu: 0.5}}}}`, "spec.trainer.resourcesPerNode.limits[cpu]"},
		"a word for a quantity":              {`{trainer: {resourcesPerNode: {limits: {cpu: many}}}}`, "spec.trainer.resourcesPerNode.limits[cpu]"},
		"a quantity with a word":             {`{trainer: {resourcesPerNode: {limits: {cpu: 4 cores}}}}`, "spec.trainer.resourcesPerNode.limits[cpu]"},
		"text for a mapping":                 {`{trainer: mpi}`, "spec.trainer"},
		"a mapping for a list":               {`{trainer: {env: {A: b}}}`, "spec.trainer.env"},
		"a list with a null item":            {`{trainer: {env: [null]}}`, "spec.trainer.env[0]"},
		"a word for a boolean":               {`{suspend: "yes"}`, "spec.suspend"},
		"a missing name of a variable":       {`{trainer: {env: [{value: a}]}}`, "spec.trainer.env[0].name"},
		"a variable that is set twice":       {`{trainer: {env: [{name: A}, {name: A}]}}`, "spec.trainer.env[1].name"},
		"an empty name":                      {`{runtimeRef: {name: ""}}`, "spec.runtimeRef.name"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, version := range versions {
				reader, err := ReaderFor(version)
				if err != nil {
					t.Fatal(err)
				}
				_, errs := reader.Read(submittedJob{spec: tc.spec}.job(t, version))
				if len(errs) != 1 || errs[0].Field != tc.want {
					t.Errorf("Trainer %s: Read() finds %v, want one error at %s", version, errs, tc.want)
				}
			}
		})
	}
}

func TestReaderForRefusesUnknownVersions(t *testing.T) {
	if _, err := ReaderFor("1.9"); err == nil || !strings.Contains(err.Error(), "2.1, 2.2, 2.3") {
		t.Errorf("ReaderFor(1.9) = %v, want an error that lists the supported versions", err)
	}
}

func TestReadRequiresAName(t *testing.T) {
	reader, err := ReaderFor("2.3")
	if err != nil {
		t.Fatal(err)
	}
	if _, errs := reader.Read(map[string]any{}); len(errs) != 1 || errs[0].Field != "metadata.name" {
		t.Errorf("Read() of an empty TrainJob finds %v, want an error about the name", errs)
	}
}

func TestExemptRequests(t *testing.T) {
	over := submittedJob{spec: `{trainer: {numNodes: 9}}`}
	suspended := submittedJob{spec: `{suspend: true, trainer: {numNodes: 9}}`}
	patched := submittedJob{pod: `{spec: {tolerations: [{operator: Exists}]}}`}
	running := submittedJob{spec: `{trainer: {numNodes: 2}}`, pod: `{spec: {tolerations: [{operator: Exists}]}}`}
	queued := submittedJob{metadata: `{name: a, labels: {kueue.x-k8s.io/queue-name: default}}`}
	urgent := submittedJob{metadata: `{name: a, labels: {kueue.x-k8s.io/queue-name: default, kueue.x-k8s.io/priority-class: urgent}}`}
	kueuePatched := submittedJob{pod: `{metadata: {labels: {kueue.x-k8s.io/podset: a}}}`, manager: "kueue.x-k8s.io/manager"}
	prebuilt := submittedJob{metadata: `{name: train, labels: {kueue.x-k8s.io/prebuilt-workload-name: a}}`}
	unqueued := submittedJob{metadata: `{name: a}`}
	final := submittedJob{metadata: `{name: a, finalizers: [a]}`}
	otherFinal := submittedJob{metadata: `{name: a, finalizers: [b]}`}
	finalOver := submittedJob{metadata: `{name: a, finalizers: [a]}`, spec: over.spec}
	cases := map[string]struct {
		user        string
		before, now *submittedJob
		want        []Rule
	}{
		"a new TrainJob":                          {"eve", nil, &over, []Rule{RuleNodeLimit}},
		"a new TrainJob of an exempt user":        {"kueue", nil, &over, nil},
		"suspending a TrainJob above its limits":  {"eve", &over, &suspended, nil},
		"an update to more nodes":                 {"eve", &submittedJob{}, &over, []Rule{RuleNodeLimit}},
		"an existing patch":                       {"eve", &patched, &running, nil},
		"a new patch":                             {"eve", &submittedJob{}, &running, []Rule{RuleDisallowedPatchField}},
		"a new patch of an exempt user":           {"kueue", &submittedJob{}, &running, nil},
		"an update that removes a patch of Kueue": {"eve", &kueuePatched, &submittedJob{}, []Rule{RuleRemovedQueuePatch}},
		"an update that keeps a patch of Kueue":   {"eve", &kueuePatched, &kueuePatched, nil},
		"an update that sets a label of Kueue":    {"eve", &submittedJob{}, &prebuilt, []Rule{RuleUnlistedKueueSetting}},
		"an update that keeps a label of Kueue":   {"eve", &prebuilt, &prebuilt, nil},
		"an update that removes the queue":        {"eve", &queued, &unqueued, []Rule{RuleUnlistedQueue}},
		"an update of a TrainJob without queue":   {"eve", &unqueued, &final, []Rule{RuleReservedMetadata}},
		"an update to a priority class":           {"eve", &queued, &urgent, []Rule{RuleUnlistedPriorityClass}},
		"an update that keeps a priority class":   {"eve", &urgent, &urgent, nil},
		"an update that changes a finalizer":      {"eve", &final, &otherFinal, []Rule{RuleReservedMetadata}},
		"an update that removes a finalizer":      {"eve", &final, &unqueued, []Rule{RuleReservedMetadata}},
		"an update that keeps a finalizer":        {"eve", &final, &finalOver, []Rule{RuleNodeLimit}},
	}
	p := parameters(t, limitsWith("exempt", "trainer kueue", "queues", "default other"))
	for name, tc := range cases {
		for _, version := range versions {
			t.Run(name+" in Trainer "+version, func(t *testing.T) {
				request := Request{User: tc.user, TrainJob: tc.now.job(t, version)}
				if tc.before != nil {
					request.Before = tc.before.job(t, version)
				}
				reader, err := ReaderFor(version)
				if err != nil {
					t.Fatal(err)
				}
				denials, wrong := reader.Check(request, p)
				var got []Rule
				for _, d := range denials {
					got = append(got, d.Rule)
				}
				if diff := cmp.Diff(tc.want, got); diff != "" || len(wrong) > 0 {
					t.Errorf("Check(): %v, -want +got:\n%s", wrong, diff)
				}
			})
		}
	}
}

// TestCheckReportsLabelsThatAreMappings checks an update of a TrainJob with a label whose value is a mapping. The
// update does not change the label. Reader.Check must still return an error for the label. A real API server never
// stores a label with such a value.
func TestCheckReportsLabelsThatAreMappings(t *testing.T) {
	reader, err := ReaderFor("2.3")
	if err != nil {
		t.Fatal(err)
	}
	job := submittedJob{metadata: `{name: a, labels: {kueue.x-k8s.io/a: {b: c}}}`}.job(t, "2.3")
	denials, errs := reader.Check(Request{User: "eve", TrainJob: job, Before: job}, parameters(t, defaultLimits))
	if len(denials) > 0 || len(errs) != 1 || errs[0].Field != "metadata.labels[kueue.x-k8s.io/a]" {
		t.Errorf("Check() = %v, %v, want one error about the label", denials, errs)
	}
}
