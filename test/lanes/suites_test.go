package lanes

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/test/repo"
)

// suite describes how the tests of a package depend on environment variables.
type suite struct {
	variables []string // variables such as TRAINYARD_E2E, without which a test skips or the test program exits
	runs      bool     // whether a test runs without these variables
}

// inspect describes the package that consists of the given files. inspect looks for skipping functions: functions that
// read an environment variable TRAINYARD_..., and contain a call of Skip or Exit. A test counts as skipped if the test
// or TestMain is a skipping function, or calls a skipping function directly or indirectly. inspect knows functions only
// by their names, so it does not distinguish functions with the same name.
func inspect(t *testing.T, files map[string]string) suite {
	t.Helper()
	var s suite
	calls, skips := map[string][]string{}, map[string]bool{}
	for name, text := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			f, is := d.(*ast.FuncDecl)
			if !is {
				continue
			}
			variables, names := inspectFunction(f)
			calls[f.Name.Name] = append(calls[f.Name.Name], names...)
			if len(variables) > 0 && slices.ContainsFunc(names, func(n string) bool { return n == "Skip" || n == "Skipf" || n == "Exit" }) {
				skips[f.Name.Name] = true
				s.variables = append(s.variables, variables...)
			}
		}
	}
	for before := -1; before != len(skips); {
		before = len(skips)
		for name, called := range calls {
			if slices.ContainsFunc(called, func(n string) bool { return skips[n] }) {
				skips[name] = true
			}
		}
	}
	for name := range calls {
		isTest := strings.HasPrefix(name, "Test") && name != "TestMain"
		s.runs = s.runs || isTest && !skips[name] && !skips["TestMain"]
	}
	slices.Sort(s.variables)
	s.variables = slices.Compact(s.variables)
	return s
}

func inspectFunction(f *ast.FuncDecl) (variables, names []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			selector, is := n.Fun.(*ast.SelectorExpr)
			if !is || selector.Sel.Name != "Getenv" && selector.Sel.Name != "LookupEnv" || len(n.Args) != 1 {
				return true
			}
			if literal, is := n.Args[0].(*ast.BasicLit); is && strings.HasPrefix(literal.Value, `"TRAINYARD_`) {
				name, _ := strconv.Unquote(literal.Value) // the parser accepts only valid literals
				variables = append(variables, name)
			}
		case *ast.Ident:
			if n != f.Name {
				names = append(names, n.Name)
			}
		}
		return true
	})
	return variables, names
}

func readSuites(t *testing.T) map[string]suite {
	t.Helper()
	files, tested := map[string]map[string]string{}, map[string]bool{}
	for _, file := range repo.Files(t) {
		if !strings.HasPrefix(file, "test/") || path.Ext(file) != ".go" || strings.Contains(file, "/testdata/") {
			continue
		}
		folder := path.Dir(file)
		if files[folder] == nil {
			files[folder] = map[string]string{}
		}
		files[folder][file] = read(t, file)
		tested[folder] = tested[folder] || strings.HasSuffix(file, "_test.go")
	}
	suites := map[string]suite{}
	for folder := range tested {
		if tested[folder] {
			suites[folder] = inspect(t, files[folder])
		}
	}
	return suites
}

// readLaneSuites reads the variable LANE_SUITES of the Makefile. This variable lists the suites that `make test` skips.
// Each entry contains a folder below test/, and the lane that tests this folder.
func readLaneSuites(t *testing.T, makefile string) map[string][]string {
	t.Helper()
	m := regexp.MustCompile(`(?m)^LANE_SUITES := (.*)$`).FindStringSubmatch(makefile)
	if m == nil {
		t.Fatal("the Makefile has no variable LANE_SUITES")
	}
	found := map[string][]string{}
	for _, entry := range strings.Fields(m[1]) {
		folder, lane, _ := strings.Cut(entry, ":")
		found["test/"+folder] = append(found["test/"+folder], lane)
	}
	return found
}

// TestSkippedSuitesAreListed looks for suites in which every test needs an environment variable, such as TRAINYARD_E2E.
// LANE_SUITES must list each of these suites. If the variables of such a suite are not set, `go test` skips all tests
// of the suite, and nevertheless prints "ok". TestSkippedSuitesAreListed also checks each environment variable that the
// tests of a suite need. At least one command of the Makefile must both set the variable and run the tests of the
// suite.
func TestSkippedSuitesAreListed(t *testing.T) {
	makefile, suites := read(t, "Makefile"), readSuites(t)
	listed := readLaneSuites(t, makefile)
	for folder, s := range suites {
		if !s.runs && len(s.variables) > 0 && listed[folder] == nil {
			t.Errorf("no test of %s runs without %v: add this folder to LANE_SUITES of the Makefile", folder, s.variables)
		}
		for _, variable := range s.variables {
			if !runs(makefile, folder, variable) {
				t.Errorf("no command of the Makefile sets %s for %s", variable, folder)
			}
		}
	}
	for folder, lanes := range listed {
		if s, known := suites[folder]; !known || s.runs {
			t.Errorf("LANE_SUITES contains %s, whose tests need no variable", folder)
		}
		for _, lane := range lanes {
			if !regexp.MustCompile(`(?m)^\t\$\(LANE\) ` + lane + ` .* \./` + folder + `( |$)`).MatchString(makefile) {
				t.Errorf("LANE_SUITES contains %s:%s, but the lane does not test this folder", folder, lane)
			}
		}
	}
}

// runs(makefile, folder, variable) returns true if at least one command in the Makefile both sets the environment
// variable and tests the folder.
func runs(makefile, folder, variable string) bool {
	isAssignment := func(word string) bool { return strings.HasPrefix(word, variable+"=") }
	for line := range strings.Lines(makefile) {
		if words := strings.Fields(line); slices.Contains(words, "./"+folder) && slices.ContainsFunc(words, isAssignment) {
			return true
		}
	}
	return false
}

// TestTestLeavesOutLaneSuites checks the first of the two `go test` commands in `make test`. This command must leave
// out two groups of folders, and no other folders. The first group contains the folders in LANE_SUITES. The second
// group contains the folders that the second `go test` command tests.
func TestTestLeavesOutLaneSuites(t *testing.T) {
	makefile := read(t, "Makefile")
	m := regexp.MustCompile(`grep -v -E '/test/\(([^)]*)\)\$\$'\)\n(?:\t@#.*\n)*\tgo test -count=1 [^.]*(.*)\n`).FindStringSubmatch(makefile)
	if m == nil {
		t.Fatal("the Makefile does not contain the two go test commands of `make test`")
	}
	want := slices.Collect(maps.Keys(readLaneSuites(t, makefile)))
	for _, word := range strings.Fields(m[2]) {
		want = append(want, strings.TrimPrefix(word, "./"))
	}
	var got []string
	for name := range strings.SplitSeq(m[1], "|") {
		got = append(got, "test/"+name)
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("folders that the first command leaves out: -want +got:\n%s", diff)
	}
}

func TestInspect(t *testing.T) {
	const skip = `
func need(t *testing.T) { if os.Getenv("TRAINYARD_A") == "" { t.Skip("") } }
func start(t *testing.T) { need(t) }
func (w world) prepare() { start(w.t) }
`
	for name, test := range map[string]struct {
		text string
		want suite
	}{
		"all tests skip":          {skip + "func TestA(t *testing.T) { start(t) }\nfunc TestB(t *testing.T) { world{t}.prepare() }", suite{[]string{"TRAINYARD_A"}, false}},
		"one test does not skip":  {skip + "func TestA(t *testing.T) { start(t) }\nfunc TestB(t *testing.T) {}", suite{[]string{"TRAINYARD_A"}, true}},
		"the program exits":       {`func TestMain(m *testing.M) { if os.Getenv("TRAINYARD_A") == "" { os.Exit(0) } }` + "\nfunc TestA(t *testing.T) {}", suite{[]string{"TRAINYARD_A"}, false}},
		"the value is parsed":     {`func TestA(t *testing.T) { if _, err := strconv.Atoi(os.Getenv("TRAINYARD_A")); err != nil { t.Skipf("") } }`, suite{[]string{"TRAINYARD_A"}, false}},
		"a variable without skip": {`func TestA(t *testing.T) { if os.Getenv("TRAINYARD_A") == "" { t.Error() } }`, suite{nil, true}},
		"another variable":        {`func TestA(t *testing.T) { if os.Getenv("HOME") == "" { t.Skip() } }`, suite{nil, true}},
	} {
		got := inspect(t, map[string]string{"a_test.go": "package a\n" + test.text})
		if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(suite{})); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}
