package bundles

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	goyaml "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard/generator/object"
)

func thing(t testing.TB, value any) object.Object {
	t.Helper()
	o, err := object.New(map[string]any{
		"apiVersion": "v1", "kind": "Thing", "metadata": map[string]any{"name": "a"}, "value": value,
	}, object.Origin{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestYAMLIsCanonical(t *testing.T) {
	cases := map[string]struct {
		value any
		want  string
	}{
		"a word":                            {"abc", "abc"},
		"an image":                          {"quay.io/acme/x:1.2@sha256:00", "quay.io/acme/x:1.2@sha256:00"},
		"a quantity":                        {"4Gi", "4Gi"},
		"a number in a string":              {"4", `"4"`},
		"a number with an exponent":         {"1e3", `"1e3"`},
		"a hexadecimal number":              {"0x1F", `"0x1F"`},
		"an octal number":                   {"0o17", `"0o17"`},
		"a number with underscores":         {"1_000", `"1_000"`},
		"a time in base 60":                 {"12:30:45", `"12:30:45"`},
		"a date":                            {"2001-01-01", `"2001-01-01"`},
		"a boolean of YAML 1.1":             {"Yes", `"Yes"`},
		"a boolean of one letter":           {"n", `"n"`},
		"null as text":                      {"null", `"null"`},
		"a tilde":                           {"~", `"~"`},
		"empty text":                        {"", `""`},
		"text with a colon":                 {"a: b", `"a: b"`},
		"text that ends with a colon":       {"a:", `"a:"`},
		"text with a hash":                  {"a #b", `"a #b"`},
		"text with a space at its end":      {"a ", `"a "`},
		"a flag":                            {"-o ConnectionAttempts=10", "-o ConnectionAttempts=10"},
		"a negative number":                 {"-1", `"-1"`},
		"a dash":                            {"-", `"-"`},
		"infinity":                          {".inf", `".inf"`},
		"JSON as text":                      {`{"a":1}`, `'{"a":1}'`},
		"text with both quotes":             {`'a' "b"`, `"'a' \"b\""`},
		"a reference":                       {"$(A)", "$(A)"},
		"an anchor":                         {"&a", `"&a"`},
		"a tag":                             {"!a", `"!a"`},
		"a line break of YAML 1.1":          {"a\u2028b", `"a\u2028b"`},
		"a byte order mark":                 {"\ufeffa", `"\ufeffa"`},
		"a control character":               {"a\x01", `"a\u0001"`},
		"an integer":                        {int64(-3), "-3"},
		"a fraction":                        {0.5, "0.5"},
		"a boolean":                         {true, "true"},
		"nothing":                           {nil, "null"},
		"an empty mapping":                  {map[string]any{}, "{}"},
		"an empty list":                     {[]any{}, "[]"},
		"several lines":                     {"a\n\n  b\nc", "|-\n  a\n\n    b\n  c"},
		"several lines with a break at end": {"a\nb\n", "|\n  a\n  b"},
		"several breaks at the end":         {"a\nb\n\n", "|+\n  a\n  b\n"},
		"lines that begin with space":       {" a\nb", `" a\nb"`},
		"lines that end with space":         {"a \nb", `"a \nb"`},
		"one line with a break":             {"a\n", `"a\n"`},
		"a list of mappings":                {[]any{map[string]any{"b": int64(1), "a": "x"}, "y"}, "\n- a: x\n  b: 1\n- \"y\""},
		"a list in a list":                  {[]any{[]any{"a", map[string]any{"k": "v"}}, []any{}}, "\n- - a\n  - k: v\n- []"},
		"a mapping in a mapping":            {map[string]any{"on": map[string]any{"x": "1"}}, "\n  \"on\":\n    x: \"1\""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			text := string(newRenderer().text(thing(t, tc.value)).Bytes())
			_, got, _ := strings.Cut(text, "value:")
			if diff := cmp.Diff(tc.want, strings.TrimPrefix(strings.TrimSuffix(got, "\n"), " ")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			expectRoundTrip(t, []byte(text), tc.value)
		})
	}
}

// expectRoundTrip reads a value back with two parsers. The first parser reads YAML 1.1 and converts the YAML to
// JSON, as kubectl, kustomize and Argo CD do. The second parser is the package goyaml, which reads YAML 1.2.
func expectRoundTrip(t *testing.T, text []byte, value any) {
	t.Helper()
	var old, young struct {
		Value any `json:"value" yaml:"value"`
	}
	if err := yaml.Unmarshal(text, &old); err != nil {
		t.Fatalf("YAML 1.1: %v\n%s", err, text)
	}
	if err := goyaml.Unmarshal(text, &young); err != nil {
		t.Fatalf("YAML 1.2: %v\n%s", err, text)
	}
	want := canonicalJSON(t, value)
	if got := canonicalJSON(t, old.Value); got != want {
		t.Errorf("YAML 1.1 reads %s, want %s\n%s", got, want, text)
	}
	if got := canonicalJSON(t, young.Value); got != want {
		t.Errorf("YAML 1.2 reads %s, want %s\n%s", got, want, text)
	}
}

func canonicalJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestShapesAreFilledIn checks that each object is written with its own parameter values, although all objects share one
// shape.
func TestShapesAreFilledIn(t *testing.T) {
	fields := map[string]any{
		"apiVersion": "v1", "kind": "Thing", "metadata": map[string]any{"name": "a"},
		"list": []any{[]any{"x", "y"}, map[string]any{"n": int64(1), "s": "t"}, "z"},
	}
	paths := [][]any{{"metadata", "name"}, {"list", 0, 0}, {"list", 0, 1}, {"list", 1, "n"}, {"list", 2}}
	shape, r := object.NewShape(fields, paths), newRenderer()
	for _, values := range [][]any{
		{"b", "plain", "1", int64(7), "two\nlines\n"},
		{"c", "", "a: b", int64(-1), "{"},
	} {
		o, err := object.Make(shape, values, object.Origin{}, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := yaml.Unmarshal(r.text(o).Bytes(), &got); err != nil {
			t.Fatalf("%v\n%s", err, r.text(o))
		}
		if diff := cmp.Diff(canonicalJSON(t, o.Fields()), canonicalJSON(t, got)); diff != "" {
			t.Errorf("-object +read back:\n%s\n%s", diff, r.text(o))
		}
	}
}

func FuzzYAML(f *testing.F) {
	for _, seed := range []string{"", "a", "yes", "1e3", "a: b", "- a", "a\nb", " a\n b\n", "\u2028", "'\"", "0b1", "1:2", "=", "<<", "%a", "@", "`", "a\t#b", "\\", "?", ": ", "[", "}"} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, key, text string) {
		// If a run hangs, the panic ends the run, and the fuzzer stores the input that caused the hang.
		timer := time.AfterFunc(20*time.Second, func() { panic("one input took more than 20s") }) //nolint:forbidigo // see above
		defer timer.Stop()
		// The input must be valid UTF-8, because Kubernetes reads objects as JSON, and JSON is always UTF-8.
		key, text = strings.ToValidUTF8(key, "?"), strings.ToValidUTF8(text, "?")
		value := map[string]any{"text": text, "list": []any{text, []any{text}}, "below": map[string]any{"x" + key: text}}
		expectRoundTrip(t, newRenderer().text(thing(t, value)).Bytes(), value)
	})
}
