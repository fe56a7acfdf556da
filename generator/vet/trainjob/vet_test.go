package trainjob

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/generator/object"
	"github.com/trainyard/trainyard/generator/problem"
)

// newParameters returns the parameter ConfigMap of a tenant. The tenant lists one runtime, whose TrainJobs can have at
// most the given number of nodes.
func newParameters(t testing.TB, trainer, tenant, nodes string) object.Object {
	t.Helper()
	o, err := object.New(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{
			"name": "trainyard-" + tenant, "namespace": v1alpha1.SystemNamespace, "labels": map[string]any{v1alpha1.TenantLabel: tenant},
		},
		"data": map[string]any{
			"trainer": trainer, "runtimes": "mpi", "ownRuntimes": "false", "exempt": "", "labels": "", "annotations": "", "nodeLabels": "", "managers": v1alpha1.TrainJobController, "encryption": "none", "queues": "", "priorityClasses": "", "namespaceLabel": "", "mpi.initializers": "",
			"mpi.kind": "ClusterTrainingRuntime", "mpi.image": "quay.io/acme/mpi:1", "mpi.maxNodes": nodes, "mpi.maxProcPerNode": "4",
			"mpi.maxGPUsPerNode": "4", "mpi.numProcPerNode": "1", "mpi.gpus": "", "mpi.maxName": "44",
		},
	}, object.Origin{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func platform(t testing.TB, environment string, objects ...object.Object) Platform {
	t.Helper()
	set, err := object.NewSet(objects...)
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPlatform(environment, set)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const good = `apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: train, namespace: team-a}
spec:
  runtimeRef: {name: mpi}
  trainer: {numNodes: 2, command: [mpirun, train]}
`

func TestVetReportsPositions(t *testing.T) {
	cases := map[string]struct{ text, invalid, denied string }{
		"a valid TrainJob":                   {good, "", ""},
		"documents of other kinds":           {"kind: ConfigMap\napiVersion: v1\n---\n" + good, "", ""},
		"too many nodes":                     {strings.Replace(good, "numNodes: 2", "numNodes: 9", 1), "", "6:23 node-limit"},
		"an unknown field":                   {good + "  runtime: x\n", "", "7:12 disallowed-field"},
		"an unknown field with a mapping":    {good + "  other:\n    a: 1\n", "", "7:3 disallowed-field"},
		"a label":                            {good + "  podTemplateOverrides:\n  - metadata: {labels: {acme.example/team: a}}\n    targetJobs: [{name: node}]\n", "", "8:44 unlisted-label"},
		"an item in a list":                  {good + "  podTemplateOverrides:\n  - spec: {volumes: [{name: a, emptyDir: {}}, {name: shm, emptyDir: {}}]}\n    targetJobs: [{name: node}]\n", "", "8:54 disallowed-volume"},
		"a value with a wrong type":          {strings.Replace(good, "numNodes: 2", `numNodes: "2"`, 1), "6:23 wrong-type", ""},
		"another version":                    {strings.Replace(good, "v1alpha1", "v2", 1), "1:13 wrong-type", ""},
		"another namespace":                  {strings.Replace(good, "team-a", "team-b", 1), "3:36 wrong-namespace", ""},
		"a TrainJob in a List":               {"apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(strings.Replace(good, "mpi}", "torch}", 1), "\n", "\n  "), "", "8:24 unlisted-runtime"},
		"a key with control characters":      {good + "  \"\\e[2J.x\": 1\n", "", "7:14 disallowed-field"},
		"a forbidden value and a wrong type": {strings.Replace(good, "numNodes: 2", "numNodes: 9, image: 3", 1), "6:33 wrong-type", "6:23 node-limit"},
		"empty documents":                    {good + "---\n---\n", "", ""},
		"a patch of Trainer 2.2":             {good + "  runtimePatches: []\n", "", "7:3 disallowed-field"},
		"a label in quotes":                  {good + "  podTemplateOverrides:\n  - metadata:\n      labels:\n        fine: a\n        \"acme.example/te]am\": a\n    targetJobs: [{name: node}]\n", "", "10:15 unlisted-label, 11:31 unlisted-label"},
		"a label with a space":               {good + "  podTemplateOverrides:\n  - metadata:\n      labels:\n\n        \"a b\": a\n    targetJobs: [{name: node}]\n", "", "11:16 unlisted-label"},
		"a misspelled runtime name":          {strings.Replace(good, "{name: mpi}", "{nam: mpi}", 1), "5:21 invalid-value", ""},
		"no runtime":                         {strings.Replace(good, "{name: mpi}", "{}", 1), "5:3 invalid-value", ""},
		"an unknown field of the runtime":    {strings.Replace(good, "{name: mpi}", "{version: 1}", 1), "5:3 invalid-value", "5:25 disallowed-field"},
		"a word for the number of processes": {strings.Replace(good, "numNodes: 2", "numProcPerNode: {a: b}", 1), "6:13 wrong-type", ""},
		"a list for the number of processes": {strings.Replace(good, "numNodes: 2", "numProcPerNode: [null]", 1), "6:13 wrong-type", ""},
		"a number as the name":               {strings.Replace(good, "name: train", "name: 123", 1), "3:18 wrong-type", ""},
		"a number as the runtime":            {strings.Replace(good, "{name: mpi}", "{name: 5}", 1), "5:22 wrong-type", ""},
		"a misspelled kind":                  {good + "---\n" + strings.Replace(good, "TrainJob", "trainJob", 1), "9:7 unrecognized-object", ""},
		"a plural kind without apiVersion":   {good + "---\nkind: TrainJobs\n", "8:1 unrecognized-object, 8:7 unrecognized-object", ""},
		"no apiVersion":                      {good + "---\nkind: TrainJob\n", "8:1 unrecognized-object", ""},
		"a misspelled group in a List":       {good + "---\nkind: List\nitems: [{kind: TrainJob, apiVersion: trainer.kubflow.org/v1alpha1}]\n", "9:38 unrecognized-object", ""},
		"documents that are no objects":      {good + "---\ntext\n---\n- a\n---\n{a: 1}\n", "8:1 unrecognized-object, 10:1 unrecognized-object, 12:1 unrecognized-object", ""},
		"a similar kind of another vendor":   {good + "---\n{apiVersion: acme.example/v1, kind: TrainingJob}\n---\n{apiVersion: kubeflow.org/v1, kind: PyTorchJob}\n", "", ""},
		"no spec":                            {good[:strings.Index(good, "spec:")], "1:1 invalid-value", ""},
		"a spec that is null":                {good[:strings.Index(good, "spec:")] + "spec: null\n", "4:7 invalid-value", ""},
		"a misspelled spec":                  {strings.Replace(good, "spec:", "sepc:", 1), "4:1 invalid-value", ""},
		"a TrainJob without spec in a List":  {"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, metadata: {name: train, namespace: team-a}}\n", "4:3 invalid-value", ""},
		"a mapping for a boolean":            {good + "  suspend: {a: b}\n", "7:3 wrong-type", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Vet("job.yaml", []byte(tc.text), "team-a", []Platform{platform(t, "", newParameters(t, "2.1", "team-a", "8"))})
			if err != nil || got.TrainJobs != 1 {
				t.Fatalf("Vet() = %+v, %v, want one TrainJob", got, err)
			}
			if diff := cmp.Diff([]string{tc.invalid, tc.denied}, []string{summarize(got.Invalid), summarize(got.Denied)}); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func summarize(problems problem.List) string {
	var all []string
	for _, p := range problems {
		if strings.ContainsAny(p.String(), "\x1b\n") {
			return "a message with control characters"
		}
		all = append(all, fmt.Sprintf("%d:%d %s", p.Line, p.Column, p.Rule.Name))
	}
	return strings.Join(all, ", ")
}

func TestWrongTypesAreQuoted(t *testing.T) {
	cases := map[string]struct{ old, new, want string }{
		"a word for a number":    {"numNodes: 2", "numNodes: four", `got "four"`},
		"a number in quotes":     {"numNodes: 2", `numNodes: "2"`, `got "2"`},
		"a number for a text":    {"command: [mpirun, train]", "image: 3", "got 3"},
		"an item of a list":      {"command: [mpirun, train]", "command: [mpirun, true]", "got true"},
		"a mapping for a number": {"numNodes: 2", "numNodes: {a: 1}", "got a mapping"},
		"nothing in a list":      {"command: [mpirun, train]", "command: [mpirun, null]", "got nothing"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Vet("job.yaml", []byte(strings.Replace(good, tc.old, tc.new, 1)), "", []Platform{platform(t, "", newParameters(t, "2.3", "team-a", "4"))})
			if err != nil || len(got.Invalid) != 1 || !strings.HasSuffix(got.Invalid[0].Message, ", "+tc.want) {
				t.Errorf("Vet() = %v, %v, want one problem that ends with %s", got.Invalid, err, tc.want)
			}
		})
	}
}

func TestVetNamesEnvironments(t *testing.T) {
	text := strings.Replace(good, "numNodes: 2", "numNodes: 5, image: other", 1)
	got, err := Vet("job.yaml", []byte(text), "", []Platform{
		platform(t, "dev", newParameters(t, "2.3", "team-a", "4")), platform(t, "prod", newParameters(t, "2.3", "team-a", "8")),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"job.yaml:6:23: spec.trainer.numNodes: node-limit: want 1 to 4 as the number of nodes (the limit of runtime \"mpi\"), got 5 (found in environment dev)",
		"job.yaml:6:33: spec.trainer.image: image-mismatch: only the launcher would run this image, and the nodes would run quay.io/acme/mpi:1, the image of the runtime: leave this field out, or use a runtime with the image \"other\"",
	}
	if diff := cmp.Diff(strings.Join(want, "\n"), got.Denied.Error()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestOneTrainJobWithoutRules checks a file in which one of two TrainJobs names no namespace and thus no tenant. Vet
// must report this TrainJob, and still check the other one.
func TestOneTrainJobWithoutRules(t *testing.T) {
	nameless := strings.Replace(good, ", namespace: team-a", "", 1)
	many := strings.Replace(good, "numNodes: 2", "numNodes: 9", 1)
	got, err := Vet("job.yaml", []byte(nameless+"---\n"+many), "", []Platform{platform(t, "", newParameters(t, "2.3", "team-a", "8"))})
	if err != nil || got.TrainJobs != 2 {
		t.Fatalf("Vet() = %+v, %v, want two TrainJobs", got, err)
	}
	if diff := cmp.Diff([]string{"3:1 wrong-namespace", "13:23 node-limit"}, []string{summarize(got.Invalid), summarize(got.Denied)}); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestTenantsWithoutRules(t *testing.T) {
	nameless := strings.Replace(good, ", namespace: team-a", "", 1)
	cases := map[string]struct{ text, tenant, want string }{
		"no tenant":         {nameless, "", "a TrainJob names no namespace: want --tenant, one of team-a, team-b"},
		"a typing error":    {nameless, "team-c", `namespace "team-c" has no rules for TrainJobs: did you mean --tenant team-a or team-b?`},
		"an unknown tenant": {nameless, "physics", `namespace "physics" has no rules for TrainJobs: want --tenant, one of team-a, team-b`},
	}
	p := platform(t, "", newParameters(t, "2.3", "team-a", "8"), newParameters(t, "2.3", "team-b", "8"))
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Vet("job.yaml", []byte(tc.text), tc.tenant, []Platform{p})
			var unknown *TenantError
			if !errors.As(err, &unknown) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Vet() = %v, want a TenantError with %q", err, tc.want)
			}
		})
	}
	_, err := Vet("job.yaml", []byte(good), "", []Platform{platform(t, "")})
	if err == nil || !strings.Contains(err.Error(), "want a document with tenants") {
		t.Errorf("Vet() without any rules = %v, want an error that suggests a document with tenants", err)
	}
}

func TestEachNameIsUnique(t *testing.T) {
	generated := strings.Replace(good, "name: train", "generateName: train", 1)
	text := strings.Join([]string{good, strings.Replace(good, ", namespace: team-a", "", 1), strings.Replace(good, "train,", "other,", 1), generated, generated}, "---\n")
	got, err := Vet("job.yaml", []byte(text), "team-a", []Platform{platform(t, "", newParameters(t, "2.3", "team-a", "8"))})
	const want = "job.yaml:10:18: metadata.name: duplicate-trainjob: the TrainJob at job.yaml:3:18 has the same name and namespace: rename or remove one of them"
	if err != nil || got.Invalid.Error() != want {
		t.Errorf("Vet() = %v, %v, want %s", got.Invalid, err, want)
	}
}

// TestFilesWithoutTrainJobs checks that Vet reports a misspelled kind or apiVersion of a TrainJob even if the file
// contains no other TrainJob.
func TestFilesWithoutTrainJobs(t *testing.T) {
	cases := map[string]string{
		strings.Replace(good, "TrainJob", "Trainjob", 1): `job.yaml:2:7: kind: unrecognized-object: unknown kind "Trainjob": did you mean "TrainJob"?`,
		strings.Replace(good, "kubeflow", "kubflow", 1):  `job.yaml:1:13: apiVersion: unrecognized-object: unknown apiVersion "trainer.kubflow.org/v1alpha1": did you mean "trainer.kubeflow.org/v1alpha1"?`,
		"[1]":                               "job.yaml:1:1: unrecognized-object: want an object, got a list",
		"kind: ConfigMap\napiVersion: v1\n": "",
	}
	for text, want := range cases {
		got, err := Vet("job.yaml", []byte(text), "team-a", []Platform{platform(t, "", newParameters(t, "2.3", "team-a", "8"))})
		if (err == nil) != (want == "") || err != nil && err.Error() != want || got.TrainJobs > 0 {
			t.Errorf("Vet(%q) = %v, want %s", text, err, want)
		}
	}
}

func TestUnknownNamespaces(t *testing.T) {
	cases := map[string]struct{ namespace, want string }{
		"a typing error":    {"team-ab", `job.yaml:3:36: metadata.namespace: wrong-namespace: namespace "team-ab" has no rules for TrainJobs: did you mean "team-a" or "team-b"?`},
		"another namespace": {"physics", `job.yaml:3:36: metadata.namespace: wrong-namespace: namespace "physics" has no rules for TrainJobs: want one of "team-a", "team-b"`},
		"a number":          {"12", "job.yaml:3:36: metadata.namespace: wrong-type: want the name of a namespace, in quotes if it looks like another type"},
	}
	p := platform(t, "", newParameters(t, "2.3", "team-a", "8"), newParameters(t, "2.3", "team-b", "8"))
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Vet("job.yaml", []byte(strings.Replace(good, "team-a", tc.namespace, 1)), "", []Platform{p})
			if err != nil || got.Invalid.Error() != tc.want {
				t.Errorf("Vet() = %v, %v, want %s", got.Invalid, err, tc.want)
			}
		})
	}
}

func TestTenantsOfOneEnvironment(t *testing.T) {
	text := strings.Replace(good, "numNodes: 2", "numNodes: 9", 1)
	platforms := []Platform{
		platform(t, "dev", newParameters(t, "2.3", "team-a", "4")), platform(t, "prod", newParameters(t, "2.3", "team-b", "8")),
	}
	got, err := Vet("job.yaml", []byte(text+"---\n"+strings.Replace(text, "team-a", "team-b", 1)), "", platforms)
	want := "job.yaml:6:23: spec.trainer.numNodes: node-limit: want 1 to 4 as the number of nodes (the limit of runtime \"mpi\"), got 9 (found in environment dev)\n" +
		"job.yaml:13:23: spec.trainer.numNodes: node-limit: want 1 to 8 as the number of nodes (the limit of runtime \"mpi\"), got 9 (found in environment prod)"
	if err != nil || got.Denied.Error() != want || len(got.Invalid) > 0 {
		t.Errorf("Vet() = %v, %v, %v, want %s", got.Denied, got.Invalid, err, want)
	}
	if got, err := Vet("job.yaml", []byte(strings.Replace(good, ", namespace: team-a", "", 1)), "team-b", platforms); err != nil || len(got.Invalid)+len(got.Denied) > 0 {
		t.Errorf("Vet() for a tenant of one environment = %v, %v, want no problems", got, err)
	}
	got, err = Vet("job.yaml", []byte(good), "", platforms[1:])
	if err != nil || !strings.Contains(got.Invalid.Error(), "has no rules for TrainJobs in environment prod") {
		t.Errorf("Vet() in another environment = %v, %v, want a wrong namespace", got.Invalid, err)
	}
}

func TestSyntaxErrorsAreProblems(t *testing.T) {
	_, err := Vet("job.yaml", []byte(good+"  a: [\n"), "team-a", nil)
	var problems problem.List
	if !errors.As(err, &problems) || problems[0].Rule != problem.Syntax {
		t.Errorf("Vet() = %v, want a problem of the text", err)
	}
}

func TestInvalidParametersAreErrors(t *testing.T) {
	cases := map[string]struct {
		rules object.Object
		want  string
	}{
		"a parameter that is not a number": {newParameters(t, "2.3", "team-a", "many"), "reading the rules of team-a: reading the parameter mpi.maxNodes"},
		"an unknown version of Trainer":    {newParameters(t, "1.9", "team-a", "8"), `Trainer version "1.9"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			set, err := object.NewSet(tc.rules)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := NewPlatform("", set); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("NewPlatform() = %v, want an error with %q", err, tc.want)
			}
		})
	}
}
