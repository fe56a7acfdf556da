// Package layout tests the structure of the source code. For example, tests check imports between packages, the length
// of files and the comments on exported names.
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

// ban is one row of the first table of docs/design/architecture.md. Packages that match "from" must not import packages
// that match "targets". Packages that match "exceptions" may be imported nevertheless.
type ban struct {
	from, targets, exceptions []pattern
	reason                    string
}

func readBans(t *testing.T) []ban {
	t.Helper()
	var bans []ban
	for _, row := range findTable(t, "docs/design/architecture.md", "from", "must not import", "reason") {
		targets, exceptions, _ := strings.Cut(row[1], " except ")
		b := ban{from: readPatterns(t, row[0]), targets: readPatterns(t, targets), reason: row[2]}
		if exceptions != "" {
			b.exceptions = readPatterns(t, exceptions)
		}
		bans = append(bans, b)
	}
	return bans
}

// pkg contains the fields that the command `go list` prints for a package.
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
	for _, b := range readBans(t) {
		for _, violation := range b.listViolations(all) {
			t.Errorf("%s: %s", violation, b.reason)
		}
	}
}

func (b ban) listViolations(all []pkg) []string {
	var found []string
	for _, p := range all {
		for _, from := range b.from {
			if !from.covers(p.ImportPath) {
				continue
			}
			for _, target := range b.targets {
				for _, imported := range target.bannedImports(from, p) {
					// If the imported package also matches the pattern in the variable "from", the import is allowed.
					if target.covers(imported) && !from.covers(imported) && !anyCovers(b.exceptions, imported) {
						found = append(found, p.ImportPath+" imports "+imported)
					}
				}
			}
		}
	}
	return found
}

// bannedImports returns imports of the package p. The method listViolations compares the returned imports with the
// pattern "target". The result always includes the direct imports of p. The following rules decide whether the result
// also includes the indirect imports. If "target" matches packages of this repository, bannedImports returns all direct
// and indirect imports. If "target" matches packages of CUE and "from" matches packages in cmd/, bannedImports returns
// only direct imports. The reason is that packages in cmd/ may import CUE indirectly, through the generator. If
// "target" matches packages of CUE and "from" matches packages outside cmd/, bannedImports returns all direct and
// indirect imports. For all other targets, bannedImports returns only direct imports, because this project cannot
// change the imports of other modules.
func (target pattern) bannedImports(from pattern, p pkg) []string {
	isCommand := strings.HasPrefix(from.path, module+"/cmd")
	if strings.HasPrefix(target.path, module) || strings.HasPrefix(target.path, "cuelang.org") && !isCommand {
		return p.Deps
	}
	return p.Imports
}

// TestLayersNameExistingPackages checks that each pattern in the table of forbidden imports matches a package. A
// pattern with the mark "(coming)" must match no package, because the mark is for packages that do not exist yet.
func TestLayersNameExistingPackages(t *testing.T) {
	var existing []string
	for _, p := range packages(t) {
		existing = append(append(existing, p.ImportPath), p.Deps...)
	}
	for _, file := range cueFiles(t) {
		existing = append(existing, path.Join(module, path.Dir(file)))
	}
	for _, b := range readBans(t) {
		for _, p := range slices.Concat(b.from, b.targets, b.exceptions) {
			switch exists := slices.ContainsFunc(existing, p.covers); {
			case !exists && !p.coming:
				t.Errorf("%s matches no package: correct the table of docs/design/architecture.md", p.path)
			case exists && p.coming:
				t.Errorf("%s exists now: remove the mark in the table of docs/design/architecture.md", p.path)
			}
		}
	}
}

func covers(pattern, importPath string) bool {
	if folder, ok := strings.CutSuffix(pattern, "/..."); ok {
		return importPath == folder || strings.HasPrefix(importPath, folder+"/")
	}
	return importPath == pattern
}

// slowPackages lists packages that slow down the start of a program by milliseconds. The command "trainyard" must start
// fast, because Argo CD starts it at each refresh.
var slowPackages = []string{
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
			if slices.ContainsFunc(slowPackages, func(pattern string) bool { return covers(pattern, linked) }) {
				t.Errorf("the command contains %s, which delays each start by milliseconds", linked)
			}
		}
		return
	}
	t.Error("there is no package cmd/trainyard")
}

func TestLayersCanFail(t *testing.T) {
	bundle := pkg{ImportPath: module + "/bundles/x", Deps: []string{"cuelang.org/go/cue", module + "/generator/load", module + "/generator/object"}}
	for _, b := range []ban{
		{from: readPatterns(t, "`./bundles/...`"), targets: readPatterns(t, "`cuelang.org/go/...`")},
		{from: readPatterns(t, "`./api`, `./bundles/...`"), targets: readPatterns(t, "`./generator/...`"), exceptions: readPatterns(t, "`./generator/object`")},
	} {
		if found := b.listViolations([]pkg{bundle}); len(found) != 1 {
			t.Errorf("%v finds %q, want one import", b, found)
		}
	}
}
