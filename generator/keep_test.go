package generator_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/generator/object"
)

// memory is a store that loses nothing.
type memory map[string][]byte

func (m memory) Get(key string) ([]byte, bool) { text, ok := m[key]; return text, ok }
func (m memory) Put(key string, text []byte)   { m[key] = text }

func (m memory) pipeline() *generator.Pipeline {
	return generator.New(trainyard.CUE).KeepIn(m, "program")
}

func (m memory) generate(t *testing.T, r generator.Request) []generator.Platform {
	t.Helper()
	platforms, err := m.pipeline().Generate(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return platforms
}

func example(t *testing.T, name string) generator.Input {
	t.Helper()
	file := filepath.Join("..", "examples", name, "platform.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return generator.Input{Name: file, Text: text}
}

// described is everything that anybody can learn of a platform. What a shape has for leaves is that of the object it was
// first composed for, which may be of another environment, and nobody's business.
func described(t *testing.T, p generator.Platform) map[string]any {
	t.Helper()
	delivery, err := json.Marshal(p.Delivery)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]any{"name": p.Name, "environment": p.Environment, "parts": p.Parts, "notes": p.Notes, "delivery": string(delivery)}
	shapes := map[*object.Shape]int{}
	for o := range p.Objects.All() {
		shape, values := o.Shape()
		if _, known := shapes[shape]; !known {
			shapes[shape] = len(shapes)
		}
		all[o.ID().String()] = map[string]any{
			"fields": o.Fields(), "origin": o.Origin(), "parameters": o.Parameters(), "runtime": o.Label("trainyard.dev/runtime"),
			"shape": shapes[shape], "leaves": shape.Leaves(), "values": values,
		}
	}
	return all
}

func TestWhatIsKeptIsWhatWasMade(t *testing.T) {
	for _, name := range []string{"minimal", "vanilla", "acme"} {
		t.Run(name, func(t *testing.T) {
			r := generator.Request{Layers: []generator.Input{example(t, name)}}
			store := memory{}
			made := store.generate(t, r)
			if want := 1 + len(made); len(store) != want { // and what the environments are called
				t.Fatalf("%d texts are kept, want %d", len(store), want)
			}
			before := maps.Clone(store)
			same(t, made, store.generate(t, r))
			for _, one := range made {
				if one.Environment != "" {
					r.Environments = []string{one.Environment}
					same(t, []generator.Platform{one}, store.generate(t, r))
				}
			}
			if diff := cmp.Diff(before, store); diff != "" {
				t.Errorf("asking again changes what is kept:\n%s", diff)
			}
		})
	}
}

func same(t *testing.T, made, kept []generator.Platform) {
	t.Helper()
	if len(made) != len(kept) {
		t.Fatalf("%d platforms are kept, want %d", len(kept), len(made))
	}
	for i := range made {
		if diff := cmp.Diff(described(t, made[i]), described(t, kept[i])); diff != "" {
			t.Errorf("-made +kept:\n%s", diff)
		}
	}
}

func TestEnvironmentsAreKeptOneByOne(t *testing.T) {
	of := func(names ...string) generator.Request {
		r := request(inTwo)
		r.Environments = names
		return r
	}
	tests := map[string]struct {
		asked []generator.Request
		again generator.Request
		made  bool // once more
	}{
		"one, then the same":       {[]generator.Request{of("dev")}, of("dev"), false},
		"one, then the same twice": {[]generator.Request{of("dev")}, of("dev", "dev"), false},
		"one, then another":        {[]generator.Request{of("dev")}, of("prod"), true},
		"one, then all":            {[]generator.Request{of("dev")}, of(), true},
		"each, then both":          {[]generator.Request{of("dev"), of("prod")}, of("prod", "dev"), false},
		"each, then all":           {[]generator.Request{of("dev"), of("prod")}, of(), true},
		"all, then one":            {[]generator.Request{of()}, of("prod"), false},
		"all, then both":           {[]generator.Request{of()}, of("dev", "prod"), false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			store := memory{}
			for _, r := range tc.asked {
				store.generate(t, r)
			}
			counted := &counter{memory: store}
			got, err := generator.New(trainyard.CUE).KeepIn(counted, "program").Generate(t.Context(), tc.again)
			if err != nil {
				t.Fatal(err)
			}
			if made := counted.puts > 0; made != tc.made {
				t.Errorf("made once more: %t, want %t", made, tc.made)
			}
			fresh, err := generator.New(trainyard.CUE).Generate(t.Context(), tc.again)
			if err != nil {
				t.Fatal(err)
			}
			same(t, fresh, got)
		})
	}
}

// A document without environments, and one with two.
const (
	inNone = `apiVersion: trainyard.dev/v1alpha1
kind: Platform
metadata: {name: a}
spec:
  runtimes: {mpi: {from: openmpi-cpu, image: quay.io/acme/openmpi:5}}
`
	inTwo = inNone + `  environments: {dev: {}, prod: {runtimes: {mpi: {numNodes: 4}}}}
`
)

// counter counts what is put into a store.
type counter struct {
	memory
	puts int
}

func (c *counter) Put(key string, text []byte) { c.puts++; c.memory.Put(key, text) }

func TestWhatDoesNotExistIsNotKept(t *testing.T) {
	for _, text := range []string{inNone, inTwo} {
		store, r := memory{}, request(text)
		store.generate(t, r)
		for _, unknown := range []string{"", "test"} {
			r.Environments = []string{unknown}
			var missing *generator.EnvironmentError
			if _, err := store.pipeline().Generate(t.Context(), r); !errors.As(err, &missing) {
				t.Errorf("environment %q of %q: %v", unknown, text, err)
			}
		}
	}
}

func TestOtherRequestsAreKeptApart(t *testing.T) {
	given := request(inTwo).Layers[0]
	renamed, changed := given, given
	renamed.Name = "other.yaml"
	changed.Text = append(slices.Clone(given.Text), '\n')
	dev, prod := []string{"dev"}, []string{"prod"}
	requests := map[string]generator.Request{
		"as it is":        {Layers: []generator.Input{given}, Environments: dev},
		"another name":    {Layers: []generator.Input{renamed}, Environments: dev},
		"another text":    {Layers: []generator.Input{changed}, Environments: dev},
		"twice":           {Layers: []generator.Input{given, given}, Environments: dev},
		"another one":     {Layers: []generator.Input{given}, Environments: prod},
		"imports allowed": {Layers: []generator.Input{given}, Environments: dev, AllowImports: true},
		"another program": {Layers: []generator.Input{given}, Environments: dev},
	}
	store := memory{}
	for name, r := range requests {
		p, before := store.pipeline(), len(store)
		if name == "another program" {
			p = p.KeepIn(store, "another")
		}
		if _, err := p.Generate(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if len(store) != before+1 {
			t.Errorf("%s: the result of another request was taken", name)
		}
	}
}

func TestProblemsAreNotKept(t *testing.T) {
	store := memory{}
	if _, err := store.pipeline().Generate(t.Context(), request("kind: Platform\n")); err == nil {
		t.Error("a document that lacks nearly everything was accepted")
	}
	if len(store) > 0 {
		t.Error("its result is kept")
	}
}

func TestDamageIsMadeGood(t *testing.T) {
	r := generator.Request{Layers: []generator.Input{example(t, "minimal")}}
	store := memory{}
	want := store.generate(t, r)
	whole := maps.Clone(store)
	names, platform := keysOf(t, store)
	of := map[string]map[string][]byte{
		names: {
			"empty": nil, "garbage": []byte("garbage"), "null": pack(t, nil), "a text": pack(t, "text"),
			"none": pack(t, []any{}), "another one": pack(t, []any{"test"}), "one too many": pack(t, []any{"", "test"}),
		},
		platform: {
			"empty": nil, "garbage": []byte("garbage"), "cut": whole[platform][:len(whole[platform])/2],
			"null": pack(t, nil), "a text": pack(t, "text"), "nothing": pack(t, map[string]any{}),
			"no document":          pack(t, map[string]any{"Name": "", "Objects": []any{nil, nil, nil}}),
			"no shape":             pack(t, setOf(nil, item(0, nil))),
			"no such shape":        pack(t, setOf(named, item(-1, nil))),
			"no values":            pack(t, setOf(named, item(0, nil))),
			"no name":              pack(t, setOf(named, item(0, []any{""}))),
			"no such leaf":         pack(t, setOf(named, item(0, []any{"a"}), item(0, nil, 1))),
			"nothing is alike":     pack(t, setOf([]any{[]any{map[string]any{}, []any{[]any{-3, ""}}, nil}}, item(0, []any{"a"}))),
			"no such meaning":      pack(t, setOf([]any{[]any{map[string]any{}, nil, []any{[]any{5, -1, nil}}}}, item(0, nil))),
			"of other environment": pack(t, map[string]any{"Name": "a", "Environment": "test", "Objects": []any{nil, nil, nil}}),
		},
	}
	store[platform] = pack(t, setOf(named, item(0, []any{"a"})))
	if got := store.generate(t, r); got[0].Objects.Len() != 1 || got[0].Name != "a" {
		t.Fatal("what has the form of a result is not read as one")
	}
	for key, damages := range of {
		for name, damage := range damages {
			maps.Copy(store, whole)
			store[key] = damage
			got := store.generate(t, r)
			if diff := cmp.Diff(described(t, want[0]), described(t, got[0])); diff != "" {
				t.Errorf("%s: -want +got:\n%s", name, diff)
			}
			if !bytes.Equal(store[key], whole[key]) {
				t.Errorf("%s: stays damaged", name)
			}
		}
	}
}

// keysOf tells apart what is kept of a document without environments: their names, and its platform.
func keysOf(t *testing.T, store memory) (names, platform string) {
	t.Helper()
	keys := slices.SortedFunc(maps.Keys(store), func(a, b string) int { return len(store[a]) - len(store[b]) })
	if len(keys) != 2 {
		t.Fatalf("%d texts are kept, want 2", len(keys))
	}
	return keys[0], keys[1]
}

func pack(t *testing.T, value any) []byte {
	t.Helper()
	text, err := object.Pack(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// setOf is a result with some shapes and objects, as they are kept.
func setOf(shapes []any, objects ...any) any {
	return map[string]any{"Name": "a", "Objects": []any{nil, shapes, objects}}
}

// named are one shape whose name is a leaf.
var named = []any{[]any{
	map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "a"}},
	[]any{[]any{0, "/metadata/name"}},
	nil,
}}

// item is an object of a shape with these values, or with other leaves than the one before.
func item(shape int, values []any, leaves ...any) any {
	return []any{shape, values, leaves, leaves, nil}
}
