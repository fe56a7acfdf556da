package document

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard/generator/problem"
)

func TestParseStream(t *testing.T) {
	type first struct {
		line, column int
		key          string
	}
	cases := map[string]struct {
		name, text string
		want       []first
	}{
		"no text":                          {"p.yaml", "", nil},
		"nothing but comments":             {"p.yaml", "# a\n---\n# b\n---\n", nil},
		"no text of JSON":                  {"p.json", " \n", nil},
		"one document":                     {"p.yaml", "a: 1\n", []first{{1, 1, "a"}}},
		"lines count through the stream":   {"p.yaml", "---\na: 1\n---\n  b: 2\n...\n---\n{c: 3}\n", []first{{2, 1, "a"}, {4, 3, "b"}, {7, 1, "c"}}},
		"empty documents between":          {"p.yaml", "a: 1\n---\n# nothing\n---\nnull\n---\nb: 2\n", []first{{1, 1, "a"}, {7, 1, "b"}}},
		"a byte order mark":                {"p.yaml", "\uFEFFa: 1\n", []first{{1, 1, "a"}}},
		"directives of YAML 1.2":           {"p.yaml", "\uFEFF# a\n\n%YAML 1.2\n---\na: 1\n...\n# b\r\n%YAML 1.2\n--- {b: 2}\n", []first{{5, 1, "a"}, {9, 5, "b"}}},
		"text that looks like a directive": {"p.yaml", "\"%YAML 1.2\": a\n", []first{{1, 1, "%YAML 1.2"}}},
		"a directive inside a key":         {"p.yaml", "{\"a\n%YAML 1.2\": b}\n", []first{{1, 1, "a %YAML 1.2"}}},
		"JSON":                             {"p.json", "\n {\"a\": 1}", []first{{2, 2, "a"}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			documents, err := ParseStream(tc.name, []byte(tc.text))
			if err != nil {
				t.Fatalf("ParseStream(): %v", err)
			}
			var got []first
			for _, n := range documents {
				got = append(got, first{n.Line, n.Column, n.Fields[0].Key})
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(first{})); diff != "" {
				t.Errorf("ParseStream(): -want +got:\n%s", diff)
			}
		})
	}
}

func TestParseStreamReadsAsKubectl(t *testing.T) {
	for _, word := range []string{
		"yes", "y", "on", "Off", "n", "TRUE", "tRue", "~", "Null", "nULL", "", "010", "08", "0o10", "0x1F", "0b11", "1_000", "1e3", "1e400", "+5", "-0", "1.", "1:30",
		"2001-01-01", "0", "42", "123456789012345", "12345678901234567890", "---", "...", "=", "no way", "'yes'", `"010"`, "!!str yes", "!!int 3", "nccl", "one\n  two", "1,2", "[yes, {on: off}]",
	} {
		text := "is: " + word + "\n"
		documents, err := ParseStream("p.yaml", []byte(text))
		if err != nil {
			t.Errorf("ParseStream(%q): %v", text, err)
			continue
		}
		var want any
		if err := yaml.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, documents[0].Plain(), compareNumbers); diff != "" {
			t.Errorf("%q: -kubectl +got:\n%s", text, diff)
		}
	}
	documents, err := ParseStream("p.yaml", []byte("yes: 1\n010: 2\n'no': 3\n"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"true": 1, "8": 2, "no": 3}, documents[0].Plain(), compareNumbers); diff != "" {
		t.Errorf("keys: -kubectl +got:\n%s", diff)
	}
}

var compareNumbers = cmp.FilterValues(func(a, b any) bool { return isNumber(a) && isNumber(b) }, cmp.Comparer(func(a, b any) bool {
	return float(a) == float(b)
}))

func isNumber(v any) bool {
	return v != nil && reflect.ValueOf(v).CanConvert(reflect.TypeFor[float64]())
}

func float(v any) float64 { return reflect.ValueOf(v).Convert(reflect.TypeFor[float64]()).Float() }

func TestParseStreamHasLimits(t *testing.T) {
	cases := map[string]struct {
		name, text, want string
		documents        int // returned
	}{
		"a large file":                        {"p.yaml", strings.Repeat("#", MaxBytes+1), "file is larger than 1048576 bytes", 0},
		"a deep document":                     {"p.yaml", "a: 1\n---\n" + strings.Repeat("[", 100) + strings.Repeat("]", 100), "more than 64", 1},
		"values of all documents together":    {"p.yaml", strings.Repeat("["+strings.Repeat("1,", 1000)+"]\n---\n", 101), "more than 100000", 99},
		"many documents":                      {"p.yaml", strings.Repeat("a: 1\n---\n", MaxDocuments+1), "p.yaml:2000:1: more than 1000 documents", MaxDocuments},
		"many empty documents":                {"p.yaml", strings.Repeat("---\n", MaxDocuments+1), "more than 1000 documents", 0},
		"a second document that is not YAML":  {"p.yaml", "a: 1\n---\nb: [\n", "p.yaml:3:4: not YAML", 1},
		"an error that does not stop parsing": {"p.yaml", "a: 1\na: 2\n---\nb: 1\n", `p.yaml:2:1: key "a" is already set at line 1`, 2},
		"JSON with text after it":             {"p.json", "{} {}", "text after the end of the document", 0},
		"text that is not UTF-8":              {"p.yaml", "a: 1\nb: \xff\n", "p.yaml:2:4: text is not UTF-8", 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			documents, err := ParseStream(tc.name, []byte(tc.text))
			var list problem.List
			if !errors.As(err, &list) || len(list) != 1 || !strings.Contains(list[0].String(), tc.want) {
				t.Errorf("ParseStream(): %v, want one problem with %q", err, tc.want)
			}
			if len(documents) != tc.documents {
				t.Errorf("ParseStream() returns %d documents, want %d", len(documents), tc.documents)
			}
		})
	}
}
