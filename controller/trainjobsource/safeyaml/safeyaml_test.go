package safeyaml

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/json"
	kubernetes "sigs.k8s.io/yaml"
)

func parse(t *testing.T, text string) *yaml.Node {
	t.Helper()
	document := &yaml.Node{}
	if err := yaml.Unmarshal([]byte(text), document); err != nil {
		t.Fatal(err)
	}
	return document
}

func TestCheck(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"plain values":         {"a: [1, x, {b: 2024-01-01}]\nb: |\n  text", ""},
		"a key in quotes":      {`{"1": a, 'on': b, "<<": c}`, ""},
		"an anchor":            {"a: &x b", "line 1: anchors and aliases are not allowed: write the value itself"},
		"a tag":                {"a: b\nc: !!binary eA==", "line 2: the tag !!binary is not allowed: remove it, and put the value in quotes if it is a string"},
		"a usual tag":          {"a: !!str b", "line 1: the tag !!str is not allowed: remove it, and put the value in quotes if it is a string"},
		"keys with digits":     {"{3d-model: a, 2fa.example.com/a: b, 10Gi: c, -x: d}", ""},
		"a date as a key":      {"2024-01-01: a", `line 1: the key "2024-01-01" is not a string: put it in quotes`},
		"a tag of a key":       {"!!binary eA==: c", "line 1: the tag !!binary is not allowed: remove it, and put the value in quotes if it is a string"},
		"a merge key":          {"<<: {a: b}", `line 1: the key "<<" is not a string: put it in quotes`},
		"a number as a key":    {"a: b\n1: c", `line 2: the key "1" is not a string: put it in quotes`},
		"a word of YAML 1.1":   {"on: c", `line 1: the key "on" is not a string: put it in quotes`},
		"an empty key":         {"? \n: c", `line 1: the key "" is not a string: put it in quotes`},
		"a list as a key":      {"? [a]\n: c", "line 1: a key must be a string"},
		"a repeated key":       {"a: b\n'a': c", `line 2: the key "a" appears twice in one mapping`},
		"a repeated key below": {"- {a: b, c: {d: e, d: f}}", `line 1: the key "d" appears twice in one mapping`},
		"deep nesting":         {strings.Repeat("[", 102) + strings.Repeat("]", 102), "line 1: mappings and lists are nested more than 100 times"},
		"many values":          {"[" + strings.Repeat("a,", 20_000) + "]", "line 1: the object has more than 20000 values"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Check(parse(t, tc.text))
			if got := fmt.Sprint(err); got != tc.want && (err != nil || tc.want != "") {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

// TestDecode checks that Decode returns the same values as the library of the API server.
func TestDecode(t *testing.T) {
	for _, text := range []string{
		"[a, 1, -1, +1, 0x1F, 0o17, 017, 1_000, 1.5, .5, 1e3, 9007199254740993, 18446744073709551616]",
		"[true, True, yes, Yes, on, y, n, NO, off, false, null, ~, Null, '']",
		"[2024-01-01, 2024-01-01T10:00:00Z, 10:30:00, 10Gi, 1.2.3, v1, 127.0.0.1, 1.2.3.4:80, -.5, +.5, -.0, -_0, 01-job.yaml, -, --, -x, +x, ., ..., =]",
		"{a: --- draft ---, b: --- 5, c: --- |, d: ... x, e: --- !!binary aGk=}",
		"['1', \"1\", 'on', \"a\\tb\\u00e4\"]",
		"a: |\n  one\n\n    two  \n  \t three\nb: >-\n  one\n  two\n\n  three\nc: |2\n    x\n\nd: one\n  two\n\n  three\n",
		"{a: {b: []}, c: {}, d: , e: [a,]}",
		"a: 1 # comment\n# comment\nb: # comment\n- 2\n",
	} {
		got, err := Decode(parse(t, text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		expected, err := kubernetes.YAMLToJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var want any
		if err := json.Unmarshal(expected, &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s\n-want +got:\n%s", text, diff)
		}
	}
	for _, text := range []string{".nan", "-.inf"} {
		want := "line 2: the value " + text + " is not a number that JSON can contain"
		if _, err := Decode(parse(t, "a: b\nc: "+text)); err == nil || err.Error() != want {
			t.Errorf("%s: error %v, want %s", text, err, want)
		}
	}
}

func TestReader(t *testing.T) {
	for text, want := range map[string]string{
		"a: [":                            "line 1: did not find expected node content",
		"a: 1\nb: 2\nc: {d: e\nf: g":      "line 3: did not find expected ',' or '}'",
		"a: 1\nb: [c, d":                  "line 2: did not find expected ',' or ']'",
		"a: 1\nb: \"c\" d":                "line 2: did not find expected key",
		"a: b: c":                         "line 1: mapping values are not allowed in this context",
		"a: 1\nb: c: d":                   "line 2: mapping values are not allowed in this context",
		"a: 1\n\tb: c":                    "line 2: found a tab character that violates indentation",
		"a: 1\nb: 2\nc: *.yaml":           "line 3: did not find expected alphabetic or numeric character",
		"a: 1\nb: 2\nc: !x!y z":           "line 3: found undefined tag handle",
		"a: 1\nb: 2\nc: \"\xed\xa0\x80\"": "line 3: invalid Unicode character",
		"a: 1\nb: 2\nc: \"\xff\"":         "line 3: invalid leading UTF-8 octet",
		"a: 1\nb: 2\nc: \"\x01\"\nd: e\n": "line 3: control characters are not allowed",
		"a: 1\n--- {b: 2}\n---\n":         "<nil>",
		"# 1\n%TAG !a! b\n--- {c: d}":     "line 2: the directive %TAG is not allowed",
		"\ufeff%TAG !a! b\n--- {c: d}":    "line 1: the directive %TAG is not allowed",
		"# 1\u2028%TAG !a! b\n--- {c: d}": "line 1: the directive %TAG is not allowed",
		"a: |\n  %TAG\nb: x %TAG":         "<nil>",
		"%YAML 1.1\n---\na: b":            "<nil>",
		"\xff\xfea\x00:\x00 \x00b\x00":    "line 1: the text must be UTF-8",
	} {
		reader := NewReader([]byte(text))
		_, err := reader.Next()
		for err == nil {
			_, err = reader.Next()
		}
		if errors.Is(err, io.EOF) {
			err = nil
		}
		if got := fmt.Sprint(err); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}
