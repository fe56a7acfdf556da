package trainjob

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/generator/object"
	"github.com/trainyard/trainyard/generator/problem"
)

// parametersOf is a tenant's ConfigMap: one runtime of so many nodes.
func parametersOf(t testing.TB, trainer, tenant, nodes string) object.Object {
	t.Helper()
	o, err := object.New(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{
			"name": "trainyard-" + tenant, "namespace": "trainyard-system", "labels": map[string]any{"trainyard.dev/tenant": tenant},
		},
		"data": map[string]any{
			"trainer": trainer, "runtimes": "mpi", "ownRuntimes": "false", "exempt": "", "labels": "", "annotations": "", "nodeLabels": "", "managers": "trainer.kubeflow.org/trainjob-controller", "encryption": "none",
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

func TestVetSaysWhere(t *testing.T) {
	cases := map[string]struct{ text, wrong, denied string }{
		"a good job":              {good, "", ""},
		"other kinds beside it":   {"kind: ConfigMap\napiVersion: v1\n---\n" + good, "", ""},
		"too many nodes":          {strings.Replace(good, "numNodes: 2", "numNodes: 9", 1), "", "6:23 nodes"},
		"an unknown field":        {good + "  runtime: x\n", "", "7:12 fields"},
		"an unknown field's key":  {good + "  other:\n    a: 1\n", "", "7:3 fields"},
		"a label":                 {good + "  podTemplateOverrides:\n  - metadata: {labels: {acme.example/team: a}}\n", "", "8:44 patch-labels"},
		"an item of a list":       {good + "  podTemplateOverrides:\n  - spec: {volumes: [{name: a, emptyDir: {}}, {name: shm, emptyDir: {}}]}\n", "", "8:54 patch-volumes"},
		"a wrong type":            {strings.Replace(good, "numNodes: 2", `numNodes: "2"`, 1), "6:23 type", ""},
		"another version":         {strings.Replace(good, "v1alpha1", "v2", 1), "1:13 type", ""},
		"another namespace":       {strings.Replace(good, "team-a", "team-b", 1), "3:36 namespace", ""},
		"jobs of a list":          {"apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(strings.Replace(good, "mpi}", "torch}", 1), "\n", "\n  "), "", "8:24 runtime"},
		"a key that is hostile":   {good + "  \"\\e[2J.x\": 1\n", "", "7:14 fields"},
		"a denial and a mistake":  {strings.Replace(good, "numNodes: 2", "numNodes: 9, image: 3", 1), "6:33 type", "6:23 nodes"},
		"nothing in a document":   {good + "---\n---\n", "", ""},
		"a patch of Trainer 2.2":  {good + "  runtimePatches: []\n", "", "7:3 fields"},
		"a label in quotes":       {good + "  podTemplateOverrides:\n  - metadata:\n      labels:\n        fine: a\n        \"acme.example/te]am\": a\n", "", "10:15 patch-labels, 11:31 patch-labels"},
		"a label with a blank":    {good + "  podTemplateOverrides:\n  - metadata:\n      labels:\n\n        \"a b\": a\n", "", "11:16 patch-labels"},
		"words for words, nested": {good + "  suspend: {a: b}\n", "7:3 type", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Vet("job.yaml", []byte(tc.text), "team-a", []Platform{platform(t, "", parametersOf(t, "2.1", "team-a", "8"))})
			if err != nil || got.TrainJobs != 1 {
				t.Fatalf("Vet() = %+v, %v, want one TrainJob", got, err)
			}
			if diff := cmp.Diff([]string{tc.wrong, tc.denied}, []string{words(got.Wrong), words(got.Denied)}); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// words are the places and rules of problems. All of them can be printed.
func words(problems problem.List) string {
	var all []string
	for _, p := range problems {
		if strings.ContainsAny(p.String(), "\x1b\n") {
			return "something that steers a terminal"
		}
		all = append(all, fmt.Sprintf("%d:%d %s", p.Line, p.Column, p.Rule.Name))
	}
	return strings.Join(all, ", ")
}

func TestVetNamesEnvironments(t *testing.T) {
	text := strings.Replace(good, "numNodes: 2", "numNodes: 5, image: other", 1)
	got, err := Vet("job.yaml", []byte(text), "", []Platform{
		platform(t, "dev", parametersOf(t, "2.3", "team-a", "4")), platform(t, "prod", parametersOf(t, "2.3", "team-a", "8")),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"job.yaml:6:23: spec.trainer.numNodes: nodes: want 1 to 4, which is what mpi allows, got 5 (in environment dev)",
		"job.yaml:6:33: spec.trainer.image: image: nodes would run quay.io/acme/mpi:1 all the same: leave it out, or use a runtime with other",
	}
	if diff := cmp.Diff(strings.Join(want, "\n"), got.Denied.Error()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestOneOfManyHasNoRules: the others are judged all the same, and it is told where it stands.
func TestOneOfManyHasNoRules(t *testing.T) {
	nameless := strings.Replace(good, ", namespace: team-a", "", 1)
	many := strings.Replace(good, "numNodes: 2", "numNodes: 9", 1)
	got, err := Vet("job.yaml", []byte(nameless+"---\n"+many), "", []Platform{platform(t, "", parametersOf(t, "2.3", "team-a", "8"))})
	if err != nil || got.TrainJobs != 2 {
		t.Fatalf("Vet() = %+v, %v, want two TrainJobs", got, err)
	}
	if diff := cmp.Diff([]string{"3:1 namespace", "13:23 nodes"}, []string{words(got.Wrong), words(got.Denied)}); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestTenantsHaveRules(t *testing.T) {
	nameless := strings.Replace(good, ", namespace: team-a", "", 1)
	cases := map[string]struct{ text, tenant, want string }{
		"nobody says whose":  {nameless, "", "a TrainJob names no namespace: want --tenant, one of team-a, team-b"},
		"a typing error":     {nameless, "team-c", `namespace "team-c" has no rules for TrainJobs: did you mean --tenant team-a?`},
		"somebody else":      {nameless, "physics", `namespace "physics" has no rules for TrainJobs: want --tenant, one of team-a, team-b`},
		"a namespace of job": {strings.Replace(good, "team-a", "physics", 1), "", `namespace "physics" has no rules`},
	}
	p := platform(t, "", parametersOf(t, "2.3", "team-a", "8"), parametersOf(t, "2.3", "team-b", "8"))
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
		t.Errorf("Vet() without any rules = %v", err)
	}
}

func TestUnreadableTextsAreProblems(t *testing.T) {
	_, err := Vet("job.yaml", []byte(good+"  a: [\n"), "team-a", nil)
	var problems problem.List
	if !errors.As(err, &problems) || problems[0].Rule != problem.Syntax {
		t.Errorf("Vet() = %v, want a problem of the text", err)
	}
}

func TestBadRulesAreErrors(t *testing.T) {
	cases := map[string]struct {
		rules object.Object
		want  string
	}{
		"no number":        {parametersOf(t, "2.3", "team-a", "many"), "reading the rules of team-a: reading the parameter mpi.maxNodes"},
		"no known version": {parametersOf(t, "1.9", "team-a", "8"), `Trainer "1.9"`},
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
