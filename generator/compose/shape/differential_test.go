package shape_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/generator/check"
	"github.com/trainyard/trainyard/generator/compose"
	"github.com/trainyard/trainyard/generator/compose/shape"
	"github.com/trainyard/trainyard/generator/evaluate"
	"github.com/trainyard/trainyard/generator/load"
	"github.com/trainyard/trainyard/generator/object"
	"github.com/trainyard/trainyard/generator/plan"
	"github.com/trainyard/trainyard/generator/problem"
)

// wideValues lists several values for many fields of a runtime. The list includes values that a faulty cache
// could confuse: explicit defaults, equal amounts in different units, and names that trainyard itself uses
// in objects or in the input of builders.
var wideValues = map[string][]string{
	"image":             {"a/b:1", "a/b:2", "quay.io/acme/rt@sha256:" + strings.Repeat("a", 64)},
	"scope":             {"namespace", "cluster"},
	"imagePullPolicy":   {"Always", "IfNotPresent"},
	"imagePullSecrets":  {"[]", "[a]", "[a, b]", "[b, a]"},
	"numNodes":          {"1", "2", "3"},
	"numProcPerNode":    {"1", "2", "8"},
	"runLauncherAsNode": {"true", "false"},
	"resources": {
		"{cpu: 2}", `{cpu: "2"}`, "{cpu: 2000m}", "{cpu: 0.5, memory: 2Gi}", "{memory: 2048Mi, nvidia.com/gpu: 1}", "{nvidia.com/gpu: 2}",
		"{nvidia.com/mig-1g.5gb: 3}", "{nvidia.com/gpu: 1, rdma/hca: 1}", "{amd.com/gpu: 2, nvidia.com/gpu: 1}", "{}",
	},
	"launcher": {"{}", "{resources: {}}", "{resources: {cpu: 1}}", "{resources: {memory: 2Gi}}", "{resources: {cpu: 2, memory: 5Gi}}",
		"{resources: {cpu: 1, nvidia.com/gpu: 1}}", "{resources: {rdma/hca: 2}}"},
	"storage": {
		"{}", "{d: {claim: c}}", "{d: {claim: e}}", "{d: {claim: c, path: /d}}", "{e: {claim: c}}", "{d: {claim: c, subPath: a/b}}",
		"{d: {nfs: {server: s, path: /x}, readOnly: true}}", "{d: {s3: x}}", "{d: {s3: x, prefix: D_}, e: {claim: c, readOnly: false}}",
		`{d: {claim: c}}, initializers: {dataset: {storage: d}}`,
		`{d: {claim: c}}, initializers: {dataset: {storage: d, image: "a/b:2"}}`,
		`{d: {claim: c}}, initializers: {dataset: {storage: d, uri: "hf://a/b", env: {A: x, HOME: /a}}}`,
		`{d: {claim: c}}, initializers: {dataset: {storage: d, uri: "hf://a/b", env: {A: y, B: "$(A)"}}}`,
		`{d: {claim: c}}, initializers: {dataset: {storage: d, secret: s, resources: {cpu: 2}}}`,
		`{d: {claim: c}, e: {claim: d}}, initializers: {dataset: {storage: d}, model: {storage: e, env: {A: ""}}}`,
	},
	"sharedMemory": {"512Mi", "1Gi", "1024Mi"},
	"env": {
		"{}", `{A: ""}`, `{A: "1"}`, `{A: "2"}`, `{B: "1"}`, `{A: "1", B: "1"}`, `{A: "$(B)", B: x}`, `{A: "$(B)", B: y}`, `{A: x, B: "$(A)"}`,
		`{A: "$$(B)", B: x}`, `{A: "$$$(B)", B: x}`, `{A: "$B", B: "$"}`, `{A: "$(", B: ")"}`, `{A: "true", B: "1.0"}`, `{A: "a\nb ", B: "#"}`,
		`{HOME: /home/mpiuser}`, `{HOME: /b}`, `{HOME: ""}`, `{A: "1", HOME: "$(A)"}`, `{HOME: /b, A: "$(HOME)"}`,
		`{name: x, value: y}`, `{env: x, derived: y, tenant: z}`, `{I_MPI_PERHOST: "2"}`, `{I_MPI_PERHOST: "$(A)", A: "1"}`,
		`{I_MPI_HYDRA_BOOTSTRAP: rsh}`, `{FI_PROVIDER: ""}`, `{FI_PROVIDER: "$(HOME)"}`, `{OMPI_MCA_btl: self}`,
	},
	"user":                   {"1", "1000", "2147483647"},
	"interface":              {"eth0", "net1"},
	"readOnlyRootFilesystem": {"true", "false"},
	"nodeSelector":           {"{}", "{a: b}", `{a: ""}`, "{b: a}"},
	"tolerations":            {"[]", "[{operator: Exists}]", "[{key: a, value: b}]"},
	"affinity":               {"{}", "{podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: a}]}}"},
	"annotations":            {"{}", `{a: ""}`, "{a.b/c: d}", "{a.b/c: e}"},
	"gang":                   {"{}", "{priorityClass: high}", "{priorityClass: low}", "{timeout: 2m}", "{timeout: 120s}", "{timeout: 1h, priorityClass: high}", "{minAvailable: all}"},
	"preflight":              {"{}", "{timeout: 10m}", "{timeout: 600s}", "{timeout: 1h}", "{oversubscribe: true}", "{timeout: 60s, oversubscribe: false}"},
	"limits":                 {"{}", "{maxNodes: 64}", "{maxNodes: 1}", "{maxNodes: 9}", "{maxProcPerNode: 8}", "{maxGPUsPerNode: 4}", "{maxNodes: 9, maxGPUsPerNode: 16}"},
}

// wideTargets lists values of spec.target. The last two items also set spec.network.
var wideTargets = []string{
	"{}", `{trainer: "2.1"}`, "{openshift: true, gang: volcano}", "{gang: coscheduling}", "{gang: kueue}", "{gang: volcano, schedulerName: s}",
	"{}\n  network: {mpi: {ports: 20000-29999}}", "{}\n  network: {encryption: ipsec}",
}

var wideBases = []string{"openmpi-cpu", "openmpi-gpu", "horovod", "intel-mpi", "mpich"}

// TestCachedObjectsEqualObjectsBuiltAlone composes random runtimes and environments with shared caches. Each object
// must equal the object that CUE builds from the whole input of the same request, without caches.
func TestCachedObjectsEqualObjectsBuiltAlone(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 5))
	requests, shared := 0, 0
	compare := func(target string, runtimes map[string]string) {
		e, plans := validPlans(t, target, runtimes)
		n, shapes := compareShapes(t, e, plans)
		requests, shared = requests+n, shared+n-shapes
	}
	compare("{}", singleChanges(map[string]string{"from": "intel-mpi", "image": "a/b:1", "env": `{A: "1"}`}))
	compare("{}", singleChanges(map[string]string{
		"from": "openmpi-gpu", "image": "a/b:1", "scope": "namespace", "launcher": "{resources: {cpu: 2}}", "limits": "{maxNodes: 9}",
		"env": `{A: "1", B: "$(A)", HOME: /b}`, "preflight": "{timeout: 5m}", "storage": "{d: {claim: c}}", "runLauncherAsNode": "false",
	}))
	for _, target := range wideTargets {
		compare(target, randomRuntimes(random, 6))
	}
	if requests < 250 || shared < requests/4 {
		t.Errorf("%d requests, of which %d share a shape: too few for a conclusion", requests, shared)
	}
}

func singleChanges(from map[string]string) map[string]string {
	texts := map[string]string{"rt": flow(from)}
	for name, values := range wideValues {
		for i, value := range values {
			other := maps.Clone(from)
			other[name] = value
			texts[fmt.Sprintf("rt-%s-%d", strings.ToLower(name), i)] = flow(other)
		}
	}
	return texts
}

func validPlans(t *testing.T, target string, runtimes map[string]string) (*evaluate.Evaluator, []*plan.Plan) {
	t.Helper()
	e, err := evaluate.New(trainyard.CUE)
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		plans, problems := planDocument(t, e, listingDocument(target, runtimes), nil)
		if len(problems) == 0 {
			return e, plans
		}
		for _, p := range problems {
			key, _, _ := strings.Cut(strings.TrimPrefix(p.Path, "spec.runtimes."), ".")
			if p.Path == key {
				t.Fatal(p)
			}
			delete(runtimes, key)
		}
	}
	t.Fatal("some runtimes still have problems after ten attempts to remove all such runtimes")
	return nil, nil
}

// planDocument plans a document for the given environments, or for all environments if none is given.
func planDocument(t *testing.T, e *evaluate.Evaluator, text string, environments []string) (plans []*plan.Plan, problems problem.List) {
	t.Helper()
	loader := load.Loader{Definitions: trainyard.CUE}
	source, err := loader.Load(t.Context(), []load.Input{{Name: "p.yaml", Text: []byte(text)}})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	documents, err := source.Environments(environments)
	if err != nil {
		t.Fatal(err)
	}
	var c check.Check
	for _, d := range documents {
		checked, err := c.Document(e, d)
		var found problem.List
		if errors.As(err, &found) {
			problems = append(problems, found...)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		p, err := plan.New(e, checked)
		if err != nil {
			t.Fatal(err)
		}
		plans = append(plans, p)
	}
	return plans, problems
}

type planned struct {
	plan *plan.Plan
	plan.Request
}

func cacheGroups(plans []*plan.Plan) map[string][]planned {
	groups := map[string][]planned{}
	for _, p := range plans {
		for _, r := range p.Requests {
			key := r.Builder.Package + r.Builder.Name + r.CacheGroup
			groups[key] = append(groups[key], planned{p, r})
		}
	}
	return groups
}

// compareShapes composes each request of all environments twice: first with caches, and then without caches. If the two
// compositions give different objects, compareShapes reports the differences. The result "requests" is the number of
// requests. The result "shapes" is the number of different shapes in the compositions with caches.
func compareShapes(t *testing.T, e *evaluate.Evaluator, plans []*plan.Plan) (requests, shapes int) {
	t.Helper()
	alone, err := evaluate.New(trainyard.CUE)
	if err != nil {
		t.Fatal(err)
	}
	if err := shape.IncludeAll(alone, "generator/objects/runtime"); err != nil {
		t.Fatal(err)
	}
	for _, group := range cacheGroups(plans) {
		built := map[*object.Shape]bool{}
		together := shape.NewComposer(e, shape.NewComponents())
		for _, r := range group {
			got, gotErr := compose.Request(together, r.plan, r.Request)
			want, wantErr := compose.Request(shape.NewComposer(alone, shape.NewComponents()), r.plan, r.Request)
			if gotErr != nil || wantErr != nil {
				t.Errorf("%s: errors %v and %v", problem.Path(r.From), gotErr, wantErr)
			}
			// The test compares the objects with reflect.DeepEqual, because cmp.Diff would take longer than CUE
			// takes to build the objects. The test calls cmp.Diff only to describe differences.
			if !reflect.DeepEqual(contents(want), contents(got)) {
				t.Errorf("%s of %s: -alone +together:\n%s", problem.Path(r.From), r.plan.Document.Environment, cmp.Diff(contents(want), contents(got)))
			}
			for _, o := range got {
				s, _ := o.Shape()
				built[s] = true
			}
			requests++
		}
		shapes += len(built)
	}
	return requests, shapes
}

func contents(objects []object.Object) []any {
	var all []any
	for _, o := range objects {
		all = append(all, o.ID().String(), o.Origin(), o.Fields(), o.Parameters(), o.Label(v1alpha1.RuntimeLabel))
	}
	return all
}

// randomRuntimes returns random runtimes. Most of them are copies of earlier runtimes with a few changed settings.
func randomRuntimes(random *rand.Rand, n int) map[string]string {
	var drafts []map[string]string
	texts := map[string]string{}
	for i := range n {
		draft := map[string]string{"from": wideBases[random.IntN(len(wideBases))], "image": "a/b:1"}
		if i%5 > 0 {
			draft = maps.Clone(drafts[random.IntN(len(drafts))])
		}
		changes := []int{2, 1, 1, 2, 6}[i%5]
		for range changes {
			vary(random, draft)
		}
		drafts = append(drafts, draft)
		texts[fmt.Sprintf("rt-%d", i)] = flow(draft)
	}
	return texts
}

func vary(random *rand.Rand, draft map[string]string) {
	names := slices.Sorted(maps.Keys(wideValues))
	name := names[random.IntN(len(names))]
	values := wideValues[name]
	if i := random.IntN(len(values) + 1); i < len(values) {
		draft[name] = values[i]
	} else if name != "image" {
		delete(draft, name)
	}
}

func flow(settings map[string]string) string {
	var fields []string
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		fields = append(fields, name+": "+settings[name])
	}
	return "{" + strings.Join(fields, ", ") + "}"
}

// listingDocument returns a document in which two tenants list each runtime. If the document has at most 20 runtimes,
// the document also has two environments. The second environment patches each runtime.
func listingDocument(target string, runtimes map[string]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: trainyard.dev/v1alpha1\nkind: Platform\nmetadata: {name: p}\nspec:\n  target: %s\n  runtimes:\n", target)
	names := slices.Sorted(maps.Keys(runtimes))
	for _, name := range names {
		fmt.Fprintf(&b, "    %s: %s\n", name, runtimes[name])
	}
	b.WriteString("  tenants:\n")
	for i := 0; i < len(names); i += 64 { // the field "runtimes" of a tenant has at most 64 items
		list := strings.Join(names[i:min(i+64, len(names))], ", ")
		fmt.Fprintf(&b, "    team-%d-a: {runtimes: [%s], quota: {pods: 9}}\n    team-%d-b: {runtimes: [%s], quota: {pods: 9}}\n", i, list, i, list)
	}
	if len(names) > 20 {
		return b.String()
	}
	b.WriteString("  environments:\n    dev: {}\n    prod:\n      ceilings: {maxNodes: 32}\n      runtimes:\n")
	patches := []string{"{env: {A: z}}", "{image: x/y:3, env: {HOME: null}}", "{limits: {maxNodes: 7}, numNodes: null}", "{preflight: null, user: null}"}
	for i, name := range names {
		fmt.Fprintf(&b, "        %s: %s\n", name, patches[i%len(patches)])
	}
	return b.String()
}
