package layout

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/trainyard/trainyard/test/repo"
)

// TestEverythingIsDocumented: each package and each exported name has a doc comment.
func TestEverythingIsDocumented(t *testing.T) {
	for _, p := range packages(t) {
		if len(p.GoFiles) == 0 {
			continue
		}
		want := "Package " + p.Name + " "
		if p.Name == "main" {
			want = "Command " + filepath.Base(p.ImportPath) + " "
		}
		if !strings.HasPrefix(p.Doc, want) {
			t.Errorf("%s: package comment starts with %q, want %q", p.ImportPath, p.Doc, want)
		}
		for _, file := range p.GoFiles {
			checkFile(t, filepath.Join(p.Dir, file))
		}
	}
}

var requirement = regexp.MustCompile(`\b(FR|NFR|SC)-([A-Z]+-)?[0-9]{3}\b`)

// TestDocsNameNoRequirements: no page contains the number of a requirement, because readers cannot look up
// this number.
func TestDocsNameNoRequirements(t *testing.T) {
	pages := 0
	for _, file := range repo.Files(t) {
		if filepath.Ext(file) != ".md" {
			continue
		}
		pages++
		for i, line := range strings.Split(string(read(t, file)), "\n") {
			if number := requirement.FindString(line); number != "" {
				t.Errorf("%s:%d contains the number of a requirement, %s", file, i+1, number)
			}
		}
	}
	if pages == 0 {
		t.Error("found no pages")
	}
}

func checkFile(t *testing.T, path string) {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, declaration := range file.Decls {
		for _, name := range listUndocumented(declaration) {
			t.Errorf("%s: %s has no comment", files.Position(declaration.Pos()), name)
		}
	}
}

// listUndocumented returns the exported names without a comment. It skips methods of unexported types, because
// interfaces document these methods.
func listUndocumented(declaration ast.Decl) []string {
	var names []string
	switch d := declaration.(type) {
	case *ast.FuncDecl:
		if d.Doc == nil && d.Name.IsExported() && (d.Recv == nil || ast.IsExported(receiver(d))) {
			names = append(names, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			names = append(names, undocumentedSpec(d, spec)...)
		}
	}
	return names
}

func undocumentedSpec(d *ast.GenDecl, spec ast.Spec) []string {
	var names []string
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if s.Name.IsExported() && d.Doc == nil && s.Doc == nil {
			names = append(names, s.Name.Name)
		}
	case *ast.ValueSpec:
		for _, name := range s.Names {
			if name.IsExported() && d.Doc == nil && s.Doc == nil && s.Comment == nil {
				names = append(names, name.Name)
			}
		}
	}
	return names
}

func receiver(f *ast.FuncDecl) string {
	expression := f.Recv.List[0].Type
	if star, ok := expression.(*ast.StarExpr); ok {
		expression = star.X
	}
	if index, ok := expression.(*ast.IndexExpr); ok {
		expression = index.X
	}
	name, _ := expression.(*ast.Ident)
	if name == nil {
		return ""
	}
	return name.Name
}
