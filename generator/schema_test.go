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
	"github.com/trainyard/trainyard/generator/schema"
)

// compileExported compiles the exported JSON Schema. The compiler also checks the schema against the meta-schema
// of JSON Schema, and fails if the schema refers to another document.
func compileExported(t *testing.T, layers bool) *jsonschema.Schema {
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

// A comparison validates documents with trainyard's CUE schema and with the JSON Schema that is
// exported from it, and compares the results.
type comparison struct {
	sharedPool
	whole, layer      *jsonschema.Schema
	accepted, refused int
}

func newComparison(t *testing.T) *comparison {
	return &comparison{whole: compileExported(t, false), layer: compileExported(t, true)}
}

// TestJSONSchemaAgreesWithCUE checks that the CUE schema and the JSON Schema accept the same documents. The test
// ignores problems that the JSON Schema cannot detect (see inSchema). The documents come from the scripts of
// cmd/trainyard and from rightDocuments. The test also tries a thousand documents with one random change each.
func TestJSONSchemaAgreesWithCUE(t *testing.T) {
	schemas := newComparison(t)
	for name, layers := range scriptLayers(t) {
		if disagreement := schemas.compare(t, layers...); disagreement != "" {
			t.Errorf("%s: %s", name, disagreement)
		}
	}
	if schemas.accepted < 20 || schemas.refused < 40 {
		t.Errorf("only %d documents of the corpus were admitted and %d refused: too few for a conclusion", schemas.accepted, schemas.refused)
	}
	documents := rightDocuments(t)
	for _, layers := range documents {
		if disagreement := schemas.compare(t, layers...); disagreement != "" {
			t.Error(disagreement)
		}
	}
	seed, tries := readSeed(t), mutationCount/2
	if testing.Short() {
		tries = mutationCount / 20
	}
	for i := range tries {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		layers := slices.Clone(documents[pick(random, []int{50, 20, 5, 25})])
		which := random.IntN(len(layers))
		m, kind := mutate(random, string(layers[which].Text))
		layers[which].Text = []byte(strings.Join(m.lines, "\n"))
		if disagreement := schemas.compare(t, layers...); disagreement != "" {
			t.Fatalf("TRAINYARD_SEED=%d, change %d: %s %v of %s: %s:\n%s", seed, i, kind, m.at, layers[which].Name, disagreement, numbered(m.lines))
		}
	}
	if schemas.accepted < tries/20 || schemas.refused < tries/5 {
		t.Errorf("of %d changes, %d were admitted and %d refused: too few for a conclusion", tries, schemas.accepted, schemas.refused)
	}
}

// inSchema reports whether the JSON Schema can detect the problem p. The JSON Schema cannot check whether a name refers
// to an entry elsewhere in the document. The JSON Schema cannot check most rules about several values. For some values,
// the JSON Schema checks only the form. For example, it accepts the CIDR 10.0.0.1/8, which the check stage refuses
// because of its host bits.
func inSchema(p problem.Problem) bool {
	return p.Rule == problem.UnknownKey || p.Rule == problem.MissingKey || p.Rule == problem.WrongValue
}

// compare returns the first difference between the results of the CUE schema and of the JSON Schema. compare
// ignores documents that cannot be read.
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
		// Suppose that a later layer or an environment sets a key to null, and that this null removes nothing.
		// trainyard then adds a note to the document. If the key is probably not misspelled, trainyard reports no
		// problem for this null, and accepts the layer. But if the JSON Schema does not define this key, the JSON
		// Schema refuses the layer. Therefore the test checks the layers of a document separately only if the document
		// has no notes.
		valid = valid && len(problems)+len(document.Notes) == 0
	}
	if !valid {
		return ""
	}
	return j.admitsAll(t, layers)
}

// admitsAll checks each layer of a valid document separately. The JSON Schema of layers must accept each layer. If the
// document has only one layer, the JSON Schema of documents must also accept this layer.
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

// disagree describes the difference if the JSON Schema and the CUE schema disagree about a value.
func (j *comparison) disagree(schema *jsonschema.Schema, value any, problems problem.List) string {
	text, err := json.Marshal(value)
	if err != nil {
		return "" // a NaN or infinity, which JSON cannot express
	}
	read, _ := jsonschema.UnmarshalJSON(bytes.NewReader(text)) // text is valid JSON, because it was just marshalled
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

// TestLayerSchemaRefuses: the JSON Schema of layers must refuse the same mistakes as the JSON Schema of documents, with
// three exceptions. First, a layer may omit required fields. Second, a layer may set a key to null, which removes the
// key. Third, a layer may contain empty mappings. None of these exceptions applies inside lists.
func TestLayerSchemaRefuses(t *testing.T) {
	schemas := newComparison(t)
	cases := map[string]struct {
		text  string
		valid bool
	}{
		"no field is required":                    {"spec: {runtimes: {mpi: {numNodes: 3}}}", true},
		"null removes a key":                      {"spec: {tenants: null, runtimes: {mpi: {limits: null, env: {A: null}}, old: null}}", true},
		"a mapping can be empty":                  {"spec: {network: {}, runtimes: {}}", true},
		"null removes an environment":             {"spec: {environments: {dev: null, prod: {target: {trainer: null}}}}", true},
		"a value out of bounds":                   {"spec: {runtimes: {mpi: {numNodes: 0}}}", false},
		"a value out of bounds in an environment": {"spec: {environments: {dev: {runtimes: {mpi: {numNodes: 0}}}}}", false},
		"an unknown key":                          {"spec: {runtimez: {}}", false},
		"an unknown key in a list item":           {"spec: {runtimes: {mpi: {tolerations: [{kez: a}]}}}", false},
		"a key with an invalid form":              {"spec: {runtimes: {Mpi: {}}}", false},
		"a list item without required fields":     {"spec: {queues: {clusterQueues: {a: {groups: [{}]}}}}", false},
		"an empty list that needs items":          {"spec: {queues: {clusterQueues: {a: {groups: []}}}}", false},
		"null as a list item":                     {"spec: {tenants: {team-a: {runtimes: [null]}}}", false},
		"environments in an environment":          {"spec: {environments: {dev: {environments: {}}}}", false},
		"a spec in an environment":                {"spec: {environments: {dev: {spec: {}}}}", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			n, err := document.Parse("layer.yaml", []byte(tc.text))
			if err != nil {
				t.Fatal(err)
			}
			if disagreement := schemas.disagree(schemas.layer, n.Plain(), nil); (disagreement == "") != tc.valid {
				t.Errorf("%s: admitted %t, want %t: %s", tc.text, disagreement == "", tc.valid, disagreement)
			}
		})
	}
}

// TestJSONSchemaHasRelations: if JSON Schema can express a rule about several fields, the exported JSON Schema must
// contain the rule.
func TestJSONSchemaHasRelations(t *testing.T) {
	schemas := newComparison(t)
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
		valid bool
	}{
		"operator In with values":                         {node("{matchExpressions: [{key: a, operator: In, values: [b]}]}"), true},
		"operator In without values":                      {node("{matchExpressions: [{key: a, operator: In}]}"), false},
		"operator In with an empty list":                  {node("{matchExpressions: [{key: a, operator: In, values: []}]}"), false},
		"operator Exists with an empty list":              {node("{matchExpressions: [{key: a, operator: Exists, values: []}]}"), true},
		"operator Exists with values":                     {node("{matchExpressions: [{key: a, operator: Exists, values: [b]}]}"), false},
		"operator Gt with a number":                       {node(`{matchExpressions: [{key: a, operator: Gt, values: ["7"]}]}`), true},
		"operator Gt with a word":                         {node("{matchExpressions: [{key: a, operator: Gt, values: [b]}]}"), false},
		"operator Gt with two numbers":                    {node(`{matchExpressions: [{key: a, operator: Gt, values: ["7", "8"]}]}`), false},
		"operator Gt without a number":                    {node("{matchExpressions: [{key: a, operator: Gt}]}"), false},
		"operator Gt with a number that only CUE refuses": {node(`{matchExpressions: [{key: a, operator: Gt, values: ["99999999999999999999"]}]}`), true},
		"matchFields with one name":                       {node("{matchFields: [{key: metadata.name, operator: In, values: [a]}]}"), true},
		"matchFields with two names":                      {node("{matchFields: [{key: metadata.name, operator: In, values: [a, b]}]}"), false},
		"a term without requirements":                     {node("{}"), false},
		"a term with an empty list":                       {node("{matchExpressions: []}"), false},
		"matchLabelKeys with a selector":                  {pods("labelSelector: {}, matchLabelKeys: [b]"), true},
		"mismatchLabelKeys without a selector":            {pods("mismatchLabelKeys: [b]"), false},
		"a destination with a CIDR":                       {rest("tenants: {a: {egress: {b: {cidrs: [10.0.0.0/8]}}}}"), true},
		"a destination without an address":                {rest("tenants: {a: {egress: {b: {tcp: [1]}}}}"), false},
		"pods without a namespace":                        {rest("tenants: {a: {egress: {b: {cidrs: [10.0.0.0/8], pods: {a: b}}}}}"), false},
		"pods in a namespace":                             {rest("network: {dns: {namespaces: [a], pods: {a: b}}}"), true},
		"pods of a resolver without a namespace":          {rest("network: {dns: {pods: {a: b}}}"), false},
		"an invalid CIDR that only CUE refuses":           {rest("tenants: {a: {egress: {b: {cidrs: [10.0.0.1/8]}}}}"), true},
		"a priority class with a value":                   {rest("priorityClasses: {a: {value: 1}}"), true},
		"an external priority class":                      {rest("priorityClasses: {a: {external: true}}"), true},
		"a priority class without a value":                {rest("priorityClasses: {a: {}}"), false},
		"a priority class with external: false":           {rest("priorityClasses: {a: {external: false}}"), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before := schemas.refused
			if disagreement := schemas.compare(t, Input{Name: "p.yaml", Text: []byte(tc.text)}); disagreement != "" {
				t.Fatal(disagreement)
			}
			if valid := schemas.refused == before; valid != tc.valid {
				t.Errorf("admitted %t, want %t:\n%s", valid, tc.valid, tc.text)
			}
		})
	}
}

// TestCUESchemaIsOneFile checks that the exported CUE schema is one file that works without a module.
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

var requirement = regexp.MustCompile(`\b(FR|NFR|SC)-([A-Z]+-)?[0-9]{3}\b|\bRequirement: `)

// TestSchemasNameNoRequirements checks that no exported schema contains the identifier of a requirement for trainyard,
// such as FR-OBS-001. The comments in the folder schemas contain such identifiers, and the export must remove the
// identifiers.
func TestSchemasNameNoRequirements(t *testing.T) {
	for _, format := range schema.Formats() {
		text, err := New(trainyard.CUE).Schema(format.Name, false)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if number := requirement.FindString(line); number != "" {
				t.Errorf("the format %s contains %q: %s", format.Name, number, line)
			}
		}
	}
}

var fileFlag = regexp.MustCompile(`-f (\S+)`)

// scriptLayers returns the layers of each document in the scripts of cmd/trainyard. Each key of the result consists
// of the name of the script and the command that reads the document.
func scriptLayers(t *testing.T) map[string][]Input {
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
			if layers, ok := readLayers(archive, line); ok {
				found[filepath.Base(script)+": "+strings.TrimSpace(line)] = layers
			}
		}
	}
	return found
}

// readLayers returns the layers that a command of a script reads. The result "ok" is false if the script does not
// contain the file of a layer, if a layer is written in CUE, or if the command reads no layer.
func readLayers(archive *txtar.Archive, command string) (layers []Input, ok bool) {
	for _, m := range fileFlag.FindAllStringSubmatch(command, -1) {
		i := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == m[1] })
		if i < 0 || filepath.Ext(m[1]) == ".cue" {
			return nil, false
		}
		layers = append(layers, Input{Name: m[1], Text: archive.Files[i].Data})
	}
	return layers, len(layers) > 0
}
