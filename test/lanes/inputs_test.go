package lanes

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/test/repo"
)

const module = "github.com/trainyard/trainyard"

// excuse is the reason why some lanes do not need a certain package as an input. Lanes are make targets that run tests.
// The field "pkg" names a package, and the field "lanes" lists lanes whose programs or tests import the package.
// TestInputsCoverImports follows imports from package to package. When the test reaches an excused package, it ignores
// the import statements in this package. If only excused packages import a package X, the test therefore does not find
// X. In this case, the test does not require that X is an input of the lane. X also needs no excuse of its own.
type excuse struct {
	pkg    string // the folder of the package, relative to the repository; packages below it are excused too
	lanes  []string
	reason string
}

// e2eLanes lists the lanes that run tests in test/e2e. Lanes that run benchmarks are not in the list.
var e2eLanes = []string{"smoke", "e2e", "hosts", "sdk", "e2e-horovod"}

// excuses is a list of packages that some lanes import, but do not need as inputs. The list byRendered contains further
// packages that are not needed as inputs. byRendered applies to a lane only if the folder bundles/rendered belongs to
// the inputs of the lane.
var excuses = []excuse{
	{"test/bench", e2eLanes, "only BenchmarkMPI uses test/bench, and these lanes run no benchmarks"},
	{"test/bench/workload", []string{"bench-mpi"}, "test/bench/mpi.go does not use workloads"},
	{"test/prometheus", []string{"bench-mpi"}, "test/bench/mpi.go does not use Prometheus"},
	{"test/grafanadata", []string{"bench-mpi"}, "test/bench/mpi.go does not use rules"},
	{"test/jobreport", []string{"smoke", "hosts", "sdk", "e2e-horovod", "scale", "bench-mpi"}, "only tests of the lanes e2e and kueue start the controller"},
	{sources, withoutSources, "these lanes have no TrainJobSource, so only the setup of its controller runs"},
	{"api/jobs/diagnosis", []string{"smoke", "hosts", "sdk", "e2e-horovod", "scale", "bench-mpi", "bench-gitops"}, "these lanes diagnose no TrainJob"},
	{"api/crds", []string{"argocd", "packets"}, "test/controlplane applies the CRDs, and these lanes have no TrainJobSource"},
	{"generator/capacity", []string{"scale"}, "only tests for Kueue use this package, and scale skips them"},
	{"test/repo", []string{"bench"}, "finds files, which has no influence on times"},
	{"test/upstream", []string{"bench"}, "splits the output that is compared, which has no influence on times"},
	{"test/prometheus", []string{"bench"}, "only `bench rules` uses Prometheus, and the lane runs `bench run`"},
	{"test/grafanadata", []string{"bench"}, "only `bench rules` uses this package, and the lane runs `bench run`"},
}

// byRendered lists packages that affect the generator's output, which is in bundles/rendered. If the folder
// bundles/rendered belongs to the inputs of a lane, the lane does not need these packages as inputs. `make test` checks
// that bundles/rendered contains the current output of the generator. Therefore, every change of the output also
// changes bundles/rendered, and makes the lane stale.
var byRendered = []string{
	".", "generator", "generator/evaluate", "generator/internal/document", "generator/internal/values", "generator/internal/wording",
	"generator/load", "generator/object", "generator/problem", "generator/sandbox",
}

type pkg struct{ Imports, TestImports, XTestImports []string }

func (p pkg) imports(withTests bool) []string {
	all := p.Imports
	if withTests {
		all = slices.Concat(p.Imports, p.TestImports, p.XTestImports)
	}
	var found []string
	for _, name := range all {
		if name == module || strings.HasPrefix(name, module+"/") {
			found = append(found, folderOf(name))
		}
	}
	return found
}

func folderOf(importPath string) string {
	return path.Clean("./" + strings.TrimPrefix(strings.TrimPrefix(importPath, module), "/"))
}

func listPackages(t *testing.T) map[string]pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,TestImports,XTestImports", "./...")
	cmd.Dir = repo.Path(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("listing packages: %v", err)
	}
	found := map[string]pkg{}
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			pkg
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return found
		} else if err != nil {
			t.Fatalf("reading the list of packages: %v", err)
		}
		found[folderOf(p.ImportPath)] = p.pkg
	}
}

// covers reports whether a folder belongs to the inputs of a lane. The result is true only if both of the following
// conditions are met. First, the field Inputs contains the folder or one of its parent folders. Second, the field
// Except contains neither the folder nor one of its parent folders. In both conditions, the root folder "." does not
// count as a parent folder. In both fields, the file embed.go stands for the root folder, because the package in the
// root folder consists only of embed.go.
func (l Lane) covers(folder string) bool {
	contains := func(input string) bool {
		return isWithin(folder, input) || folder == "." && input == "embed.go"
	}
	return slices.ContainsFunc(l.Inputs, contains) && !slices.ContainsFunc(l.Except, contains)
}

// walk returns the packages in "start", and all packages that these packages or their tests import
// directly or indirectly. walk does not follow the imports of excused packages.
func walk(all map[string]pkg, start []string, isExcused func(folder string) bool) []string {
	reached := map[string]bool{}
	var queue []string
	for _, folder := range start {
		reached[folder] = true
		queue = append(queue, all[folder].imports(true)...)
	}
	for len(queue) > 0 {
		folder := queue[0]
		queue = queue[1:]
		if reached[folder] {
			continue
		}
		reached[folder] = true
		if !isExcused(folder) {
			queue = append(queue, all[folder].imports(false)...)
		}
	}
	return slices.Sorted(maps.Keys(reached))
}

var (
	lanePattern    = regexp.MustCompile(`(?m)^\t\$\(LANE\) ([a-z0-9-]+) (.*)$`)
	fuzzPattern    = regexp.MustCompile(`(?m)^FUZZ := (.*)$`)
	packagePattern = regexp.MustCompile(`(?:^|\s)\./([^\s:]+)`)
)

func packagesOf(t *testing.T, all map[string]pkg, lane, command string) []string {
	t.Helper()
	if lane == "fuzz" {
		command = fuzzPattern.FindString(read(t, "Makefile")) // `make fuzz` runs go test for each entry of this variable
	}
	var found []string
	for _, m := range packagePattern.FindAllStringSubmatch(command, -1) {
		parent, isTree := strings.CutSuffix(m[1], "/...")
		for folder := range all {
			if folder == parent || isTree && strings.HasPrefix(folder, parent+"/") {
				found = append(found, folder)
			}
		}
	}
	slices.Sort(found)
	return found
}

// TestInputsCoverImports checks that the inputs of each lane contain the folders of all packages that the lane's tests
// import, except for excused packages. If an imported package is missing from the inputs of a lane, a change of the
// package does not make the lane stale.
func TestInputsCoverImports(t *testing.T) {
	all, used := listPackages(t), make([]bool, len(excuses))
	for _, m := range lanePattern.FindAllStringSubmatch(read(t, "Makefile"), -1) {
		i := slices.IndexFunc(All(), func(l Lane) bool { return l.Name == m[1] })
		if i < 0 || slices.Contains(All()[i].Inputs, ".") {
			continue // TestTargetsAreLanes reports unknown lanes, and "." covers all packages
		}
		lane := All()[i]
		start := packagesOf(t, all, m[1], m[2])
		if len(start) == 0 {
			t.Errorf("the Makefile's line for %s names no package: %s", m[1], m[2])
		}
		isExcused := func(folder string) bool {
			if lane.covers(folder) {
				return false
			}
			i := slices.IndexFunc(excuses, func(e excuse) bool {
				return (e.pkg == folder || strings.HasPrefix(folder, e.pkg+"/")) && slices.Contains(e.lanes, lane.Name)
			})
			if i >= 0 {
				used[i] = true
			}
			return i >= 0 || lane.covers("bundles/rendered") && slices.Contains(byRendered, folder)
		}
		for _, folder := range walk(all, start, isExcused) {
			if !lane.covers(folder) && !isExcused(folder) {
				t.Errorf("lane %s imports %s: add this folder to the lane's Inputs, or excuse it", lane.Name, folder)
			}
		}
	}
	for i, e := range excuses {
		if !used[i] {
			t.Errorf("no lane of %v needs the excuse of %s", e.lanes, e.pkg)
		}
	}
}

// TestProductTestsAreInputs checks the list productLanes. If the command of a lane runs the tests of a package in
// productFolders, productLanes must contain the lane. A lane that is not in productLanes ignores the tests in
// productFolders: it does not become stale when one of these tests changes.
func TestProductTestsAreInputs(t *testing.T) {
	all := listPackages(t)
	for _, m := range lanePattern.FindAllStringSubmatch(read(t, "Makefile"), -1) {
		for _, folder := range packagesOf(t, all, m[1], m[2]) {
			if lane := (Lane{Name: m[1]}); lane.ignores(folder + "/a_test.go") {
				t.Errorf("lane %s runs the tests in %s: add the lane to productLanes", m[1], folder)
			}
		}
	}
	for _, lane := range productLanes {
		if (Lane{Name: lane}).ignores("generator/a_test.go") {
			t.Errorf("lane %s ignores the tests of the generator", lane)
		}
	}
	if !(Lane{Name: "e2e"}).ignores("generator/a_test.go") || (Lane{Name: "e2e"}).ignores("generator/a.go") || (Lane{Name: "e2e"}).ignores("test/e2e/a_test.go") {
		t.Error("the lane e2e must ignore tests of the generator, and no other files")
	}
}

// TestInputsContainModules checks that the versions of Go modules are inputs of each lane, because each lane runs Go
// code. Each lane with the input embed.go must also have the input cue.mod, because embed.go embeds the file
// cue.mod/module.cue.
func TestInputsContainModules(t *testing.T) {
	for _, lane := range All() {
		if slices.Contains(lane.Inputs, ".") {
			continue
		}
		if !lane.usesModules() {
			t.Errorf("%s is not an input of the lane %s", moduleFile, lane.Name)
		}
		if slices.Contains(lane.Inputs, "embed.go") && !lane.covers("cue.mod") {
			t.Errorf("cue.mod is not an input of the lane %s", lane.Name)
		}
	}
}

// TestInputsCanBeTooNarrow checks three functions that TestInputsCoverImports calls: "walk", "covers" and "packagesOf".
// For this check, TestInputsCanBeTooNarrow defines the packages of a small module.
func TestInputsCanBeTooNarrow(t *testing.T) {
	all := map[string]pkg{
		"test/a": {Imports: []string{"fmt"}, TestImports: []string{module + "/b"}, XTestImports: []string{module + "/excused"}},
		"b":      {Imports: []string{module + "/c/d", module}, TestImports: []string{module + "/only-in-tests-of-b"}},
		"c/d":    {}, ".": {}, "excused": {Imports: []string{module + "/behind"}},
	}
	got := walk(all, []string{"test/a"}, func(folder string) bool { return folder == "excused" })
	if diff := cmp.Diff([]string{".", "b", "c/d", "excused", "test/a"}, got); diff != "" {
		t.Errorf("reached packages: -want +got:\n%s", diff)
	}
	lane, covered := Lane{Inputs: []string{"test", "c"}, Except: []string{"test/b"}}, map[string]bool{}
	for _, folder := range []string{"test", "test/a", "test/b", "test/b/c", "testing", "c/d", "."} {
		covered[folder] = lane.covers(folder)
	}
	want := map[string]bool{"test": true, "test/a": true, "test/b": false, "test/b/c": false, "testing": false, "c/d": true, ".": false}
	if diff := cmp.Diff(want, covered); diff != "" {
		t.Errorf("covered packages: -want +got:\n%s", diff)
	}
	command := "env A=$(DIR)/./b go test ./c/... ./test/a:FuzzA --docs docs/c.md"
	if diff := cmp.Diff([]string{"c/d", "test/a"}, packagesOf(t, all, "a", command)); diff != "" {
		t.Errorf("packages of a command: -want +got:\n%s", diff)
	}
}
