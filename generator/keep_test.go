package generator_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"

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

// described is everything that anybody can learn of a platform.
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
			"shape": shapes[shape], "common": shape.Fields(), "leaves": shape.Leaves(), "values": values,
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
			if len(store) != 1 {
				t.Fatalf("%d results are kept, want 1", len(store))
			}
			kept := store.generate(t, r)
			if len(store) != 1 || len(made) != len(kept) {
				t.Fatalf("%d results are kept of %d platforms, want 1 of %d", len(store), len(kept), len(made))
			}
			for i := range made {
				if diff := cmp.Diff(described(t, made[i]), described(t, kept[i])); diff != "" {
					t.Errorf("-made +kept:\n%s", diff)
				}
			}
		})
	}
}

func TestOtherRequestsAreKeptApart(t *testing.T) {
	acme := example(t, "acme")
	renamed, changed := acme, acme
	renamed.Name = "other.yaml"
	changed.Text = append(slices.Clone(acme.Text), '\n')
	requests := map[string]generator.Request{
		"as it is":          {Layers: []generator.Input{acme}},
		"another name":      {Layers: []generator.Input{renamed}},
		"another text":      {Layers: []generator.Input{changed}},
		"twice":             {Layers: []generator.Input{acme, acme}},
		"one environment":   {Layers: []generator.Input{acme}, Environments: []string{"dev"}},
		"another one":       {Layers: []generator.Input{acme}, Environments: []string{"prod"}},
		"imports allowed":   {Layers: []generator.Input{acme}, AllowImports: true},
		"another program":   {Layers: []generator.Input{acme}},
		"other CUE of ours": {Layers: []generator.Input{acme}},
	}
	store := memory{}
	for name, r := range requests {
		p, before := store.pipeline(), len(store)
		switch name {
		case "another program":
			p = p.KeepIn(store, "another")
		case "other CUE of ours":
			p = generator.New(withComment(t)).KeepIn(store, "program")
		}
		if _, err := p.Generate(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if len(store) != before+1 {
			t.Errorf("%s: the result of another request was taken", name)
		}
	}
}

// withComment is our CUE with a comment more.
func withComment(t *testing.T) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	err := fs.WalkDir(trainyard.CUE, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(trainyard.CUE, name)
		files[name] = &fstest.MapFile{Data: text}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	files["runtimes/mpich.cue"].Data = append(files["runtimes/mpich.cue"].Data, "// more\n"...)
	return files
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
	key := slices.Collect(maps.Keys(store))[0]
	whole := store[key]
	damages := map[string][]byte{
		"empty": nil, "garbage": []byte("garbage"), "cut": whole[:len(whole)/2],
		"null": pack(t, nil), "a text": pack(t, "text"), "nothing": pack(t, []any{}),
		"no shape":         pack(t, setOf(nil, item(0, nil))),
		"no such shape":    pack(t, setOf(named, item(-1, nil))),
		"no values":        pack(t, setOf(named, item(0, nil))),
		"no name":          pack(t, setOf(named, item(0, []any{""}))),
		"no such leaf":     pack(t, setOf(named, item(0, []any{"a"}), item(0, nil, 1))),
		"nothing is alike": pack(t, setOf([]any{[]any{map[string]any{}, []any{[]any{-3, ""}}, nil}}, item(0, []any{"a"}))),
		"no such meaning":  pack(t, setOf([]any{[]any{map[string]any{}, nil, []any{[]any{5, -1, nil}}}}, item(0, nil))),
	}
	store[key] = pack(t, setOf(named, item(0, []any{"a"})))
	if got := store.generate(t, r); got[0].Objects.Len() != 1 {
		t.Fatal("what has the form of a result is not read as one")
	}
	for name, damage := range damages {
		store[key] = damage
		got := store.generate(t, r)
		if diff := cmp.Diff(described(t, want[0]), described(t, got[0])); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
		if !bytes.Equal(store[key], whole) {
			t.Errorf("%s: stays damaged", name)
		}
	}
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
	return []any{map[string]any{"Objects": []any{nil, shapes, objects}}}
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
