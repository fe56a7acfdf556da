package lanes

import "testing"

// TestCommentsAreNoInput changes comments and code, and checks which lanes become stale. A changed comment in a Go file
// must affect only lanes whose input is the whole repository. A changed comment in a CUE file must also affect lanes
// that run the tests of the product. Changed code, or a changed directive such as //go:build, must affect every lane
// that has the file as an input.
func TestCommentsAreNoInput(t *testing.T) {
	const file = "//go:build linux\n\npackage a\n\n// A is one.\nconst A = 1 // one\n"
	for name, test := range map[string]struct {
		path, content string
		want          bool
	}{
		"a comment changes":                     {"a/a.go", "//go:build linux\n\npackage a\n\n// A is a number.\n// Its value is one.\nconst A = 1\n", false},
		"a value changes":                       {"a/a.go", "//go:build linux\n\npackage a\n\n// A is one.\nconst A = 2 // one\n", true},
		"a directive changes":                   {"a/a.go", "//go:build unix\n\npackage a\n\n// A is one.\nconst A = 1 // one\n", true},
		"the text of a constant is no Go":       {"a/a.go", "//go:build linux\n\npackage a\n\n// A is one.\nconst A = `// 1`\n", true},
		"a file is added":                       {"a/b.go", "package a\n", true},
		"an example expects another output":     {"a/example_test.go", "package a\n\nfunc ExampleA() {\n\tprintln(A)\n\t// Output: 2\n}\n", true},
		"a comment in CUE changes":              {"a/a.cue", "// two\na: 1 // one\n", false},
		"a value in CUE changes":                {"a/a.cue", "// one\na: 2\n", true},
		"an attribute in CUE changes":           {"a/a.cue", "// one\na: 1 @b()\n", true},
		"a CUE file has a syntax error":         {"a/a.cue", "// two\na: \n", true},
		"a comment of another language changes": {"a/a.sh", "# two\necho\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t)
			write(t, r, "a/a.go", file)
			write(t, r, "a/a.cue", "// one\na: 1\n")
			write(t, r, "a/a.sh", "# one\necho\n")
			write(t, r, "a/example_test.go", "package a\n\nfunc ExampleA() {\n\tprintln(A)\n\t// Output: 1\n}\n")
			commit(t, r)
			lane, everything := Lane{Name: "e2e", Inputs: []string{"a"}}, Lane{Name: "test", Inputs: []string{"."}}
			race := Lane{Name: "race", Inputs: []string{"a"}}
			for _, l := range []Lane{lane, everything, race} {
				if err := r.Run(t.Context(), l, []string{"true"}); err != nil {
					t.Fatal(err)
				}
			}
			write(t, r, test.path, test.content)
			commit(t, r)
			if got := isStale(t, r, lane); got != test.want {
				t.Errorf("IsStale() = %t, want %t", got, test.want)
			}
			if got := isStale(t, r, race); got != (test.want || name == "a comment in CUE changes") {
				t.Errorf("for a lane that runs the tests of the product, IsStale() = %t", got)
			}
			if !isStale(t, r, everything) {
				t.Error("a lane whose input is the whole repository is not stale")
			}
		})
	}
}
