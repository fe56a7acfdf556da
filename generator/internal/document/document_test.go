package document

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/generator/problem"
)

type location struct {
	path         string
	line, column int
	scalar       any
}

func locations(n *Node, path string) []location {
	found := []location{{path, n.Line, n.Column, n.Scalar}}
	for _, f := range n.Fields {
		found = append(found, locations(f.Value, path+"."+f.Key)...)
	}
	for _, item := range n.Items {
		found = append(found, locations(item, path+"[]")...)
	}
	return found
}

func TestParseKeepsPositions(t *testing.T) {
	cases := map[string]struct {
		name, text string
		want       []location
	}{
		"YAML block and flow": {
			"p.yaml", "a: 1\nb:\n  - x\n  - {c: true, d: 2.5}\n",
			[]location{{"", 1, 1, nil}, {".a", 1, 4, int64(1)}, {".b", 3, 3, nil}, {".b[]", 3, 5, "x"}, {".b[]", 4, 5, nil}, {".b[].c", 4, 9, true}, {".b[].d", 4, 18, 2.5}},
		},
		"an alias has its own position": {
			"p.yaml", "a: &x one\nb: *x\n",
			[]location{{"", 1, 1, nil}, {".a", 1, 4, "one"}, {".b", 2, 4, "one"}},
		},
		"a byte order mark and CRLF do not count": {
			"p.yaml", "\uFEFFa: 1\r\nb: ~\r\n",
			[]location{{"", 1, 1, nil}, {".a", 1, 4, int64(1)}, {".b", 2, 4, nil}},
		},
		"columns count characters": {
			"p.yaml", "{é: 1, b: 2}",
			[]location{{"", 1, 1, nil}, {".é", 1, 5, int64(1)}, {".b", 1, 11, int64(2)}},
		},
		"JSON with tabs": {
			"p.json", "{\n\t\"é\": [1,\n\t\t-2.5, \"x\"], \"b\": null}",
			[]location{{"", 1, 1, nil}, {".é", 2, 7, nil}, {".é[]", 2, 8, int64(1)}, {".é[]", 3, 3, -2.5}, {".é[]", 3, 9, "x"}, {".b", 3, 20, nil}},
		},
		"dates stay text": {
			"p.yaml", "a: 2026-11-21",
			[]location{{"", 1, 1, nil}, {".a", 1, 4, "2026-11-21"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			n, err := Parse(tc.name, []byte(tc.text))
			if err != nil {
				t.Fatalf("Parse(): %v", err)
			}
			if diff := cmp.Diff(tc.want, locations(n, ""), cmp.AllowUnexported(location{})); diff != "" {
				t.Errorf("Parse(): -want +got:\n%s", diff)
			}
		})
	}
}

func TestParseHasLimits(t *testing.T) {
	cases := map[string]struct{ name, text, want string }{
		"a large file":           {"p.yaml", strings.Repeat("#", MaxBytes+1), "file is larger than 1048576 bytes"},
		"deep YAML":              {"p.yaml", strings.Repeat("[", 100) + strings.Repeat("]", 100), "more than 64"},
		"deep JSON":              {"p.json", strings.Repeat("[", 100) + strings.Repeat("]", 100), "at most 64"},
		"an alias of its parent": {"p.yaml", "a: &a\n  b: *a\n", "p.yaml:2:6: alias *a is inside the value of its anchor &a: remove the alias"},
		"aliases that double":    {"p.yaml", doublingDocument(30), "more than 100000"},
		"many JSON values":       {"p.json", "[" + strings.Repeat("1,", MaxNodes) + "1]", "100000"},
		"text that is not UTF-8": {"p.yaml", "a: 1\nb: \xff\n", "p.yaml:2:4: text is not UTF-8"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(tc.name, []byte(tc.text))
			var list problem.List
			if !errors.As(err, &list) || len(list) != 1 || !strings.Contains(list[0].String(), tc.want) {
				t.Errorf("Parse() = %v, want one problem with %q", err, tc.want)
			}
		})
	}
}

// doublingDocument returns a document with aliases that expand to 2^n values.
func doublingDocument(n int) string {
	var b strings.Builder
	b.WriteString("a0: &a0 x\n")
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [*a%d, *a%d]\n", i, i, i-1, i-1)
	}
	return b.String()
}

func TestLocate(t *testing.T) {
	n, err := Parse("p.yaml", []byte("a:\n  b: {c: 1}\n"))
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		path []string
		want string
	}{
		"a scalar has its own position":             {[]string{"a", "b", "c"}, "p.yaml:2:10"},
		"a mapping has the position of its key":     {[]string{"a", "b"}, "p.yaml:2:3"},
		"a missing key has that of its mapping":     {[]string{"a", "b", "d"}, "p.yaml:2:3"},
		"a missing parent has that of the document": {[]string{"a", "x", "d"}, "p.yaml:1:1"},
		"the empty path is the document":            {nil, "p.yaml:1:1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := n.Locate(tc.path...).String(); got != tc.want {
				t.Errorf("Locate(%q) = %s, want %s", tc.path, got, tc.want)
			}
		})
	}
}
