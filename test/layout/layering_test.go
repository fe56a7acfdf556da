// Package layout holds the tests that keep the house in order: who may import
// whom, that everything is documented, and how long a file may get.
package layout

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/trainyard/trainyard/test/repo"
)

const module = "github.com/trainyard/trainyard"

// ban says what a folder must not import, and why. A ban on our own folders and
// on CUE holds for everything reached from there; a ban on other libraries holds
// for direct imports, because theirs reach further than anyone can mend.
type ban struct {
	from, target string // a pattern ending in /... covers the folder itself too
	why          string
}

var bans = []ban{
	{".", module + "/...", "embed.go carries data and nothing else"},
	{"generator/object/...", module + "/...", "the leaf that both sides share has no branch of its own"},
	{"generator/object/...", "cuelang.org/go/...", "formats must not need CUE to compile"},
	{"generator/problem/...", module + "/...", "what is wrong does not depend on how it was found"},
	{"generator/...", module + "/bundles/...", "generation ends with an object.Set"},
	{"generator/...", module + "/cmd/...", "nobody imports a command"},
	{"generator/...", module + "/controller/...", "the controller reads what was delivered"},
	{"generator/...", module + "/test/...", "tests are not part of the product"},
	{"generator/...", "k8s.io/client-go/...", "generation needs no cluster"},
	{"bundles/...", "cuelang.org/go/...", "CUE ends with the object.Set"},
	{"bundles/...", module + "/generator", "a format reads sets, not documents"},
	{"bundles", module + "/bundles/registry", "formats are files, wherever they go"},
	{"bundles/artifact/...", module + "/...", "an artifact is bytes, whatever they say"},
	{"bundles/...", module + "/controller/...", "files are written before anything runs"},
	{"reports/...", module + "/generator", "a report says what is wrong, however it was found"},
	{"reports/...", module + "/bundles/...", "a report says what is wrong, however it was found"},
	{"reports/...", module + "/cmd/...", "nobody imports a command"},
	{"reports/...", module + "/test/...", "tests are not part of the product"},
	{"generator/...", module + "/reports/...", "what is wrong does not depend on who reads it"},
	{"bundles/...", module + "/reports/...", "files are written whoever reads about it"},
	{"grafana/...", module + "/generator/...", "what is asked of Prometheus is data"},
	{"grafana/...", "cuelang.org/go/...", "the server reads panels without CUE"},
	{"schemas/...", module + "/...", "schemas are CUE and nothing else"},
	{"policies/guard/...", "k8s.io/client-go/...", "rules are pure"},
	{"policies/guard/...", module + "/policies/offline", "rules need no evaluator"},
	{"generator/...", module + "/policies/offline", "generation judges no TrainJobs"},
	{"bundles/...", module + "/policies/offline", "files are written without an evaluator"},
	{"api/...", module + "/policies/offline", "the API server evaluates its policies itself"},
	{"cmd/trainyard", module + "/policies/offline", "Kubernetes' evaluator takes milliseconds to start"},
	{"policies/guard/...", "sigs.k8s.io/controller-runtime/...", "rules are pure"},
	{"api/server/...", module + "/generator", "the API acts on a cluster, not on documents"},
	{"api/server/...", module + "/bundles/...", "the API acts on a cluster, not on files"},
	{"api/server/...", module + "/controller/...", "the API does not run controllers"},
	{"migrate/...", "sigs.k8s.io/controller-runtime/...", "migration is a pure function"},
	{"controller/...", module + "/cmd/...", "nobody imports a command"},
	{"api/...", module + "/cmd/...", "nobody imports a command"},
	{"bundles/...", module + "/cmd/...", "nobody imports a command"},
	{"bundles/...", module + "/test/...", "tests are not part of the product"},
	{"bundles/...", "k8s.io/client-go/...", "writing files needs no cluster"},
	{"cmd/...", "cuelang.org/go/...", "a command holds flags and printing"},
	{"cmd/...", module + "/test/...", "tests are not part of the product"},
	{"policies/guard/...", "cuelang.org/go/...", "admission runs in the cluster, without CUE"},
	{"policies/guard/...", module + "/generator", "admission judges objects, whoever made them"},
	{"policies/guard/...", module + "/controller/...", "rules are pure"},
	{"controller/...", "cuelang.org/go/...", "the controller never generates"},
	{"controller/...", module + "/generator", "the controller never generates"},
	{"controller/...", module + "/bundles/...", "the controller never generates"},
	{"api/v1alpha1/...", module + "/...", "API types are for everyone"},
	{"api/metrics/...", module + "/...", "names of metrics are for everyone"},
	{"api/jobs/...", module + "/generator", "use cases act on a cluster, not on documents"},
	{"api/jobs/...", module + "/bundles/...", "use cases act on a cluster, not on files"},
	{"api/jobs/...", "github.com/spf13/cobra", "use cases do not know who calls them"},
	{"api/jobs/...", "net/http", "use cases do not know who calls them"},
	{"api/jobs/...", module + "/controller/...", "use cases do not run controllers"},
	{"api/...", module + "/test/...", "tests are not part of the product"},
	{"migrate/...", "k8s.io/client-go/...", "migration is a pure function"},
}

// pkg is what go list says of a package.
type pkg struct {
	ImportPath string
	Dir        string
	Doc        string
	Name       string
	Imports    []string
	Deps       []string
	GoFiles    []string
}

func packages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,Doc,Name,Imports,Deps,GoFiles", "./...")
	cmd.Dir = repo.Path(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("listing packages: %v", err)
	}
	var found []pkg
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return found
		} else if err != nil {
			t.Fatalf("reading the list of packages: %v", err)
		}
		found = append(found, p)
	}
}

func TestImportsFollowTheLayers(t *testing.T) {
	all := packages(t)
	for _, b := range bans {
		for _, p := range all {
			if !covers(path.Join(module, b.from), p.ImportPath) {
				continue
			}
			for _, imported := range b.reached(p) {
				// A folder may import what lies in it.
				if covers(b.target, imported) && !covers(path.Join(module, b.from), imported) {
					t.Errorf("%s imports %s: %s", p.ImportPath, imported, b.why)
				}
			}
		}
	}
}

// reached is what the ban looks at.
func (b ban) reached(p pkg) []string {
	if strings.HasPrefix(b.target, module) || strings.HasPrefix(b.target, "cuelang.org") && !strings.HasPrefix(b.from, "cmd") {
		return p.Deps
	}
	return p.Imports
}

func covers(pattern, importPath string) bool {
	if folder, ok := strings.CutSuffix(pattern, "/..."); ok {
		return importPath == folder || strings.HasPrefix(importPath, folder+"/")
	}
	return importPath == pattern
}

// slow are packages that cost milliseconds whenever a program starts that has them. The command
// starts at each refresh of Argo CD.
var slow = []string{
	"k8s.io/client-go/kubernetes/...",
	"sigs.k8s.io/controller-runtime/pkg/client/...",
	"k8s.io/apiserver/...",
	"sigs.k8s.io/structured-merge-diff/v6/typed",
}

func TestTheCommandStartsFast(t *testing.T) {
	for _, p := range packages(t) {
		if p.ImportPath != module+"/cmd/trainyard" {
			continue
		}
		for _, linked := range p.Deps {
			if slices.ContainsFunc(slow, func(pattern string) bool { return covers(pattern, linked) }) {
				t.Errorf("the command links %s, which costs it milliseconds at each start", linked)
			}
		}
		return
	}
	t.Error("there is no command to look at")
}

func TestLayersCanFail(t *testing.T) {
	b := ban{"bundles/...", "cuelang.org/go/...", ""}
	reached := b.reached(pkg{Deps: []string{"cuelang.org/go/cue"}})
	if !slices.ContainsFunc(reached, func(p string) bool { return covers(b.target, p) }) {
		t.Error("an import of CUE below bundles would not be found")
	}
}
