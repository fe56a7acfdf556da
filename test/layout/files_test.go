package layout

import (
	"bytes"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/format"
	cueparser "cuelang.org/go/cue/parser"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/test/repo"
)

// maxLines is the maximum number of lines of a source file. A person can read a file of this length in one sitting.
const maxLines = 400

func TestFilesAreShort(t *testing.T) {
	for _, file := range repo.Files(t) {
		if ext := path.Ext(file); ext != ".go" && ext != ".cue" && ext != ".py" && ext != ".ts" && ext != ".tsx" {
			continue
		}
		if lines := bytes.Count(read(t, file), []byte("\n")); lines > maxLines {
			t.Errorf("%s has %d lines, want at most %d", file, lines, maxLines)
		}
	}
}

func cueFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	for _, file := range repo.Files(t) {
		if path.Ext(file) == ".cue" {
			files = append(files, file)
		}
	}
	return files
}

// TestCUEIsEmbedded checks that the patterns in embed.go match all CUE files outside testdata. The compiler does not
// report a CUE file that no pattern matches.
func TestCUEIsEmbedded(t *testing.T) {
	for _, file := range cueFiles(t) {
		if strings.Contains(file, "/testdata/") {
			continue
		}
		if _, err := fs.Stat(trainyard.CUE, file); err != nil {
			t.Errorf("%s is not embedded: extend the patterns in embed.go", file)
		}
	}
}

// TestCUEIsFormatted checks that all CUE files are formatted. With TRAINYARD_UPDATE=1 in the environment, the test
// formats the files.
func TestCUEIsFormatted(t *testing.T) {
	for _, file := range cueFiles(t) {
		text := read(t, file)
		formatted, err := format.Source(text)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if bytes.Equal(text, formatted) {
			continue
		}
		if os.Getenv("TRAINYARD_UPDATE") == "" {
			t.Errorf("%s is not formatted: run `make fmt`", file)
			continue
		}
		if err := os.WriteFile(repo.Path(t, file), formatted, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCUEFieldsAreDocumented checks that definitions, and all fields in schemas, have comments. The comment of a
// field in a schema must also name the source of the field's rule, after the word "Source:" or "Requirement:".
// Comments in schemas appear in the documentation and in messages to users.
func TestCUEFieldsAreDocumented(t *testing.T) {
	for _, file := range cueFiles(t) {
		parsed, err := cueparser.ParseFile(file, read(t, file), cueparser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		schema := strings.HasPrefix(file, "schemas/")
		ast.Walk(parsed, func(n ast.Node) bool {
			field, ok := n.(*ast.Field)
			if !ok {
				return true
			}
			name, _, err := ast.LabelName(field.Label)
			definition := err == nil && strings.HasPrefix(name, "#")
			if (definition || schema && err == nil) && len(ast.Comments(field)) == 0 {
				t.Errorf("%s: %s has no comment", field.Pos(), name)
			}
			text := comment(field)
			if schema && err == nil && !definition && !strings.Contains(text, "Source: ") && !strings.Contains(text, "Requirement: ") {
				t.Errorf("%s: the comment of %s has no source of its rule: add a sentence \"Source: ...\" or \"Requirement: ...\"", field.Pos(), name)
			}
			return schema || !definition
		}, nil)
	}
}

func comment(n ast.Node) string {
	var text string
	for _, group := range ast.Comments(n) {
		text += strings.Join(strings.Fields(group.Text()), " ")
	}
	return text
}

// TestCUELayers checks that CUE files import only the folders that the second table of docs/design/architecture.md
// allows.
func TestCUELayers(t *testing.T) {
	allowed := map[string][]string{}
	for _, row := range findTable(t, "docs/design/architecture.md", "folder", "its CUE can import") {
		allowed[strings.Trim(row[0], "`")] = strings.Split(strings.ReplaceAll(row[1], "`", ""), ", ")
	}
	for _, file := range cueFiles(t) {
		parsed, err := cueparser.ParseFile(file, read(t, file), cueparser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		layer := path.Dir(file)
		for allowed[layer] == nil && layer != "." {
			layer = path.Dir(layer)
		}
		for spec := range parsed.ImportSpecs() {
			imported, ours := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module+"/")
			if ours && !slices.ContainsFunc(allowed[layer], func(folder string) bool { return covers(folder+"/...", imported) }) {
				t.Errorf("%s imports %s: %s may only import %v", file, imported, layer, allowed[layer])
			}
		}
	}
}

// verifyPackage is the only package in the folders generator and bundles that may import Go types
// of Kubernetes objects. To verify an object, generator/verify uses this package to decode the
// object into its Go type.
const verifyPackage = "generator/internal/upstream"

// TestObjectsAreNotMadeInGo: the content of objects is written in CUE. Go files in generator and bundles must not
// import the types of Kubernetes, because a file that imports these types probably creates objects.
func TestObjectsAreNotMadeInGo(t *testing.T) {
	for _, p := range packages(t) {
		below := strings.TrimPrefix(p.ImportPath, module+"/")
		if !strings.HasPrefix(below, "generator") && !strings.HasPrefix(below, "bundles") || below == verifyPackage {
			continue
		}
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, spec := range file.Imports {
				if strings.Contains(spec.Path.Value, "k8s.io/api/") {
					t.Errorf("%s/%s imports %s: write objects in CUE", below, name, spec.Path.Value)
				}
			}
		}
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(repo.Path(t, file))
	if err != nil {
		t.Fatal(err)
	}
	return text
}
