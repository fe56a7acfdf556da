package generator

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/generator/check"
	"github.com/trainyard/trainyard/generator/evaluate"
	"github.com/trainyard/trainyard/generator/internal/document"
	"github.com/trainyard/trainyard/generator/problem"
)

// exported compiles a schema, which also checks it with the meta-schema. A reference to another document fails.
func exported(t *testing.T, layers bool) *jsonschema.Schema {
	t.Helper()
	text, err := New(trainyard.CUE).Schema("jsonschema", layers)
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(jsonschema.SchemeURLLoader{})
	if err := compiler.AddResource("schema.json", value); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// comparison checks documents with our CUE and with the JSON Schema exported from it.
type comparison struct {
	sharedPool
	whole, layer      *jsonschema.Schema
	accepted, refused int
}

func newComparison(t *testing.T) *comparison {
	return &comparison{whole: exported(t, false), layer: exported(t, true)}
}

// TestJSONSchemaAgreesWithCUE checks all documents of the repository, and a thousand changes to them. The exported schema
// admits the same documents as our CUE.
func TestJSONSchemaAgreesWithCUE(t *testing.T) {
	judges := newComparison(t)
	for name, layers := range scripted(t) {
		if disagreement := judges.compare(t, layers...); disagreement != "" {
			t.Errorf("%s: %s", name, disagreement)
		}
	}
	if judges.accepted < 20 || judges.refused < 40 {
		t.Errorf("only %d documents of the corpus were admitted and %d refused: too few for a conclusion", judges.accepted, judges.refused)
	}
	documents := rightDocuments(t)
	for _, layers := range documents {
		if disagreement := judges.compare(t, layers...); disagreement != "" {
			t.Error(disagreement)
		}
	}
	seed, tries := seedOf(t), mutations/2
	if testing.Short() {
		tries = mutations / 20
	}
	for i := range tries {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		layers := slices.Clone(documents[pick(random, []int{50, 20, 5, 25})])
		which := random.IntN(len(layers))
		m, kind := mutate(random, string(layers[which].Text))
		layers[which].Text = []byte(strings.Join(m.lines, "\n"))
		if disagreement := judges.compare(t, layers...); disagreement != "" {
			t.Fatalf("TRAINYARD_SEED=%d, change %d: %s %v of %s: %s:\n%s", seed, i, kind, m.at, layers[which].Name, disagreement, numbered(m.lines))
		}
	}
	if judges.accepted < tries/20 || judges.refused < tries/5 {
		t.Errorf("of %d changes, %d were admitted and %d refused: too few for a conclusion", tries, judges.accepted, judges.refused)
	}
}

// inSchema reports whether the JSON Schema expresses a rule. It does not express rules over several values, names that refer to
// other parts of the document, and values that are invalid despite their form.
func inSchema(p problem.Problem) bool {
	return p.Rule == problem.UnknownKey || p.Rule == problem.MissingKey || p.Rule == problem.WrongValue
}

// compare checks a document with both, in each of its environments, and returns their first disagreement. It ignores
// texts that cannot be read.
func (j *comparison) compare(t *testing.T, layers ...Input) string {
	t.Helper()
	d, err := j.load(t.Context(), layers...)
	if err != nil || len(d.all[0].Problems) > 0 {
		return ""
	}
	valid := true
	var c check.Check
	for _, document := range d.all {
		var problems problem.List
		if err := d.pool.Each(t.Context(), 1, 0, func(e *evaluate.Evaluator, _ int) {
			_, problems = c.Values(e, document)
		}); err != nil {
			t.Fatal(err)
		}
		problems = slices.DeleteFunc(problems, func(p problem.Problem) bool {
			return !inSchema(p) || strings.HasPrefix(p.Path, "spec.environments")
		})
		plain, _ := document.Root.Plain().(map[string]any)
		if spec, ok := plain["spec"].(map[string]any); ok {
			delete(spec, "environments")
		}
		if disagreement := j.disagree(j.whole, plain, problems); disagreement != "" {
			return disagreement
		}
		// A null that removes nothing is a note for us, and an unknown key for an editor.
		valid = valid && len(problems)+len(document.Notes) == 0
	}
	if !valid {
		return ""
	}
	return j.admitsAll(t, layers)
}

// admitsAll checks the layers of a valid document as they are written with the schemas for editors, which admit them.
func (j *comparison) admitsAll(t *testing.T, layers []Input) string {
	t.Helper()
	for _, input := range layers {
		n, err := document.Parse(input.Name, input.Text)
		if err != nil {
			t.Fatal(err)
		}
		if n.Empty() {
			continue
		}
		if disagreement := j.disagree(j.layer, n.Plain(), nil); disagreement != "" {
			return "as a layer: " + disagreement
		}
		if disagreement := j.disagree(j.whole, n.Plain(), nil); disagreement != "" && len(layers) == 1 {
			return "as it is written: " + disagreement
		}
	}
	return ""
}

// disagree compares the verdicts on one complete document.
func (j *comparison) disagree(schema *jsonschema.Schema, value any, problems problem.List) string {
	text, err := json.Marshal(value)
	if err != nil {
		return "" // a NaN or infinity, which JSON cannot express
	}
	read, _ := jsonschema.UnmarshalJSON(bytes.NewReader(text)) // just marshalled
	switch err := schema.Validate(read); {
	case err != nil && len(problems) == 0:
		return "admitted by CUE, refused by the schema: " + err.Error()
	case err == nil && len(problems) > 0:
		return "admitted by the schema, refused by CUE: " + problems[0].String()
	case err == nil:
		j.accepted++
	default:
		j.refused++
	}
	return ""
}

// TestLayerSchemaRefuses checks that a layer can be partial and contain null, and nothing else that a document cannot.
func TestLayerSchemaRefuses(t *testing.T) {
	judges := newComparison(t)
	cases := map[string]struct {
		text  string
		right bool
	}{
		"nothing is required":                      {"spec: {runtimes: {mpi: {numNodes: 3}}}", true},
		"null takes a key away":                    {"spec: {tenants: null, runtimes: {mpi: {limits: null, env: {A: null}}, old: null}}", true},
		"a mapping that must not be empty may be":  {"spec: {network: {}, runtimes: {}}", true},
		"an environment may go":                    {"spec: {environments: {dev: null, prod: {target: {trainer: null}}}}", true},
		"a value has its bounds":                   {"spec: {runtimes: {mpi: {numNodes: 0}}}", false},
		"a value of an environment has its bounds": {"spec: {environments: {dev: {runtimes: {mpi: {numNodes: 0}}}}}", false},
		"keys are known":                           {"spec: {runtimez: {}}", false},
		"keys below a list are known":              {"spec: {runtimes: {mpi: {tolerations: [{kez: a}]}}}", false},
		"keys have a form":                         {"spec: {runtimes: {Mpi: {}}}", false},
		"what is in a list is whole":               {"spec: {queues: {clusterQueues: {a: {groups: [{}]}}}}", false},
		"a list is not empty where it must not":    {"spec: {queues: {clusterQueues: {a: {groups: []}}}}", false},
		"null is no item of a list":                {"spec: {tenants: {team-a: {runtimes: [null]}}}", false},
		"environments do not hold environments":    {"spec: {environments: {dev: {environments: {}}}}", false},
		"an environment is no document":            {"spec: {environments: {dev: {spec: {}}}}", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			n, err := document.Parse("layer.yaml", []byte(tc.text))
			if err != nil {
				t.Fatal(err)
			}
			if disagreement := judges.disagree(judges.layer, n.Plain(), nil); (disagreement == "") != tc.right {
				t.Errorf("%s: admitted %t, want %t: %s", tc.text, disagreement == "", tc.right, disagreement)
			}
		})
	}
}

// TestJSONSchemaHasRelations checks the rules over several fields that JSON Schema can express.
func TestJSONSchemaHasRelations(t *testing.T) {
	judges := newComparison(t)
	const head = "apiVersion: trainyard.dev/v1alpha1\nkind: Platform\nmetadata: {name: p}\nspec:\n"
	required := func(term string) string {
		return head + `  runtimes: {mpi: {from: mpich, image: "a/b:1", affinity: ` + term + "}}\n"
	}
	node := func(term string) string {
		return required("{nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [" + term + "]}}}")
	}
	pods := func(term string) string {
		return required("{podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: a, " + term + "}]}}")
	}
	rest := func(text string) string {
		return head + `  runtimes: {mpi: {from: mpich, image: "a/b:1"}}` + "\n  " + text + "\n"
	}
	cases := map[string]struct {
		text  string
		right bool
	}{
		"In has values":                        {node("{matchExpressions: [{key: a, operator: In, values: [b]}]}"), true},
		"In without values":                    {node("{matchExpressions: [{key: a, operator: In}]}"), false},
		"In of no values":                      {node("{matchExpressions: [{key: a, operator: In, values: []}]}"), false},
		"Exists has none":                      {node("{matchExpressions: [{key: a, operator: Exists, values: []}]}"), true},
		"Exists with values":                   {node("{matchExpressions: [{key: a, operator: Exists, values: [b]}]}"), false},
		"Gt has a number":                      {node(`{matchExpressions: [{key: a, operator: Gt, values: ["7"]}]}`), true},
		"Gt with a word":                       {node("{matchExpressions: [{key: a, operator: Gt, values: [b]}]}"), false},
		"Gt with two numbers":                  {node(`{matchExpressions: [{key: a, operator: Gt, values: ["7", "8"]}]}`), false},
		"Gt without a number":                  {node("{matchExpressions: [{key: a, operator: Gt}]}"), false},
		"Gt with what only we know is none":    {node(`{matchExpressions: [{key: a, operator: Gt, values: ["99999999999999999999"]}]}`), true},
		"a field has one name":                 {node("{matchFields: [{key: metadata.name, operator: In, values: [a]}]}"), true},
		"a field with two names":               {node("{matchFields: [{key: metadata.name, operator: In, values: [a, b]}]}"), false},
		"a term without requirements":          {node("{}"), false},
		"a term with a list of none":           {node("{matchExpressions: []}"), false},
		"keys of labels with a selector":       {pods("labelSelector: {}, matchLabelKeys: [b]"), true},
		"keys of labels without a selector":    {pods("mismatchLabelKeys: [b]"), false},
		"a destination is somewhere":           {rest("tenants: {a: {egress: {b: {cidrs: [10.0.0.0/8]}}}}"), true},
		"a destination nowhere":                {rest("tenants: {a: {egress: {b: {tcp: [1]}}}}"), false},
		"pods of no namespace":                 {rest("tenants: {a: {egress: {b: {cidrs: [10.0.0.0/8], pods: {a: b}}}}}"), false},
		"pods of a namespace":                  {rest("network: {dns: {namespaces: [a], pods: {a: b}}}"), true},
		"a resolver's pods of no namespace":    {rest("network: {dns: {pods: {a: b}}}"), false},
		"a network that only we know is none":  {rest("tenants: {a: {egress: {b: {cidrs: [10.0.0.1/8]}}}}"), true},
		"a priority that is given":             {rest("priorityClasses: {a: {value: 1}}"), true},
		"a priority that is there":             {rest("priorityClasses: {a: {external: true}}"), true},
		"a priority that is not given":         {rest("priorityClasses: {a: {}}"), false},
		"a priority that is said to be absent": {rest("priorityClasses: {a: {external: false}}"), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before := judges.refused
			if disagreement := judges.compare(t, Input{Name: "p.yaml", Text: []byte(tc.text)}); disagreement != "" {
				t.Fatal(disagreement)
			}
			if right := judges.refused == before; right != tc.right {
				t.Errorf("admitted %t, want %t:\n%s", right, tc.right, tc.text)
			}
		})
	}
}

// TestCUESchemaIsOneFile checks that the CUE schema needs no module and admits the same documents.
func TestCUESchemaIsOneFile(t *testing.T) {
	text, err := New(trainyard.CUE).Schema("cue", false)
	if err != nil {
		t.Fatal(err)
	}
	ctx := cuecontext.New()
	platform := ctx.CompileBytes(text).LookupPath(cue.ParsePath("#Platform"))
	if err := platform.Err(); err != nil {
		t.Fatal(err)
	}
	cases := map[string]bool{"numNodes: 2": true, "numNodes: 0": false, "numNodez: 2": false, "limits: {maxNodes: 3}": true}
	for setting, want := range cases {
		document := ctx.CompileString(`apiVersion: "trainyard.dev/v1alpha1", kind: "Platform", metadata: name: "a", spec: runtimes: mpi: {from: "mpich", image: "a/b:1", ` + setting + "}")
		if err := platform.Unify(document).Validate(cue.Concrete(true)); (err == nil) != want {
			t.Errorf("%s: %v", setting, err)
		}
	}
}

var fileFlag = regexp.MustCompile(`-f (\S+)`)

// scripted returns the documents of scripts with their layers, by the name of the script.
func scripted(t *testing.T) map[string][]Input {
	t.Helper()
	found := map[string][]Input{}
	scripts, err := filepath.Glob("../cmd/trainyard/testdata/*/*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatal("no scripts:", err)
	}
	for _, script := range scripts {
		archive, err := txtar.ParseFile(script)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(archive.Comment)) {
			if layers, ok := layersIn(archive, line); ok {
				found[filepath.Base(script)+": "+strings.TrimSpace(line)] = layers
			}
		}
	}
	return found
}

// layersIn returns the documents that a command of a script reads, if the script contains all of them.
func layersIn(archive *txtar.Archive, command string) (layers []Input, ok bool) {
	for _, m := range fileFlag.FindAllStringSubmatch(command, -1) {
		i := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == m[1] })
		if i < 0 || filepath.Ext(m[1]) == ".cue" {
			return nil, false
		}
		layers = append(layers, Input{Name: m[1], Text: archive.Files[i].Data})
	}
	return layers, len(layers) > 0
}
