package formats

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/bundles"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/generator/object"
)

// otherValues lists new values for parameters. A parameter is a scalar in a generated object. The value of the scalar
// comes from a field of the document. The path of this field is the key of the parameter. The entry "quota.cpu" applies
// to all parameters whose key ends with ".quota.cpu", and the entry "" applies to all parameters that no other entry
// matches. Each entry contains a list of values. A parameter gets the first listed value that meets two conditions: the
// parameter's schema allows the value, and the value differs from the parameter's current value. Quotas get large
// values and requests get small values, so that the requests fit into the quotas.
var otherValues = map[string][]any{
	"quota.cpu":    {900001}, // 900000 would become 900k in objects
	"quota.memory": {"900Ti"},
	"":             {"registry.example/other@sha256:" + strings.Repeat("0f", 32), "Never", "Always", 3, 2, "2Gi", "3Gi", true, false, "another-name", 1500},
}

// changeParameters returns a new value for each parameter of a bundle, except for numProcPerNode of runtimes with GPUs.
func changeParameters(t *testing.T, bundle bundles.Bundle) map[string]any {
	t.Helper()
	values := map[string]any{}
	for o := range bundle.Objects.All() {
		fields := o.Fields()
		for _, p := range o.Parameters() {
			if text, _ := json.Marshal(fields); strings.HasSuffix(p.Key, ".numProcPerNode") && strings.Contains(string(text), "nvidia.com/") {
				continue // a runtime with one GPU has only one valid number of processes
			}
			values[p.Key] = newValue(t, p, object.At(fields, p.Path))
		}
	}
	return values
}

func parameterKeys(bundle bundles.Bundle, end string) []string {
	keys := map[string]bool{}
	for o := range bundle.Objects.All() {
		for _, p := range o.Parameters() {
			if strings.HasSuffix(p.Key, end) {
				keys[p.Key] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(keys))
}

func newValue(t *testing.T, p object.Parameter, now any) any {
	t.Helper()
	pool := otherValues[""]
	for suffix, values := range otherValues {
		if suffix != "" && strings.HasSuffix(p.Key, "."+suffix) {
			pool = values
		}
	}
	schema := compileSchema(t, p.Schema)
	for _, value := range pool {
		if schema.Validate(toDecoded(t, value)) == nil && fmt.Sprint(value) != fmt.Sprint(now) {
			return value
		}
	}
	t.Fatalf("no other value for %s, which is %v, is admitted by %s", p.Key, now, p.Schema)
	return nil
}

func TestParametersChangeOnlyTheirFields(t *testing.T) {
	for name, file := range findExamples(t) {
		for environment, bundle := range generateBundles(t, read(t, file)) {
			t.Run(path.Join(name, environment), func(t *testing.T) {
				values := changeParameters(t, bundle)
				if len(values) < 5 {
					t.Fatalf("only %d parameters: too few for a result", len(values))
				}
				want := contents(bundle.Objects, func(o object.Object) map[string]any {
					fields := o.Fields()
					for _, p := range o.Parameters() {
						if value, changed := values[p.Key]; changed {
							setAt(fields, p.Path, value)
						}
					}
					return fields
				})
				other := generateBundles(t, read(t, file), newOverlay(t, bundle, values))[environment]
				got := contents(other.Objects, object.Object.Fields)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("-with the parameters' values +of a document with them:\n%.4000s", diff)
				}
			})
		}
	}
}

func contents(set object.Set, of func(object.Object) map[string]any) map[string]any {
	all := map[string]any{}
	for o := range set.All() {
		all[o.ID().String()] = of(o)
	}
	return all
}

// setAt sets the value at a path. If the old value is a string, setAt converts the new value to a string.
func setAt(root any, path []any, value any) {
	holder, last := object.At(root, path[:len(path)-1]), path[len(path)-1]
	if _, isText := object.At(root, path).(string); isText {
		value = fmt.Sprint(value)
	}
	if n, isInt := value.(int); isInt {
		value = int64(n)
	}
	switch at := holder.(type) {
	case map[string]any:
		key, _ := last.(string)
		at[key] = value
	case []any:
		index, _ := last.(int)
		at[index] = value
	}
}

func newOverlay(t *testing.T, bundle bundles.Bundle, values map[string]any) generator.Input {
	t.Helper()
	root := map[string]any{"apiVersion": v1alpha1.APIVersion, "kind": "Platform", "metadata": map[string]any{"name": bundle.Platform}}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		steps := strings.Split(key, ".")
		if bundle.Environment != "" {
			steps = slices.Concat([]string{"spec", "environments", bundle.Environment}, steps[1:])
		}
		at := root
		for _, step := range steps[:len(steps)-1] {
			below, _ := at[step].(map[string]any)
			if below == nil {
				below = map[string]any{}
				at[step] = below
			}
			at = below
		}
		at[steps[len(steps)-1]] = values[key]
	}
	text, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	return generator.Input{Name: "values.json", Text: text}
}

func compileSchema(t *testing.T, text []byte) *jsonschema.Schema {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("schema.json", value); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// toDecoded converts a value to the Go types that the JSON Schema library expects.
func toDecoded(t *testing.T, value any) any {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	read, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return read
}
