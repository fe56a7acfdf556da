package layout

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/trainyard/trainyard/test/repo"
)

func findTable(t *testing.T, page string, columns ...string) [][]string {
	t.Helper()
	heading := "| " + strings.Join(columns, " | ") + " |\n|" + strings.Repeat("---|", len(columns)) + "\n"
	_, text, ok := strings.Cut(string(read(t, page)), heading)
	if !ok {
		t.Fatalf("%s has no table with the columns %s", page, strings.Join(columns, ", "))
	}
	var rows [][]string
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" {
			break
		}
		cells, isRow := strings.CutPrefix(line, "| ")
		cells, isWhole := strings.CutSuffix(cells, " |")
		row := strings.Split(cells, " | ")
		if !isRow || !isWhole || len(row) != len(columns) || slices.Contains(row, "") {
			t.Fatalf("%s: this row does not have %d cells with text: %s", page, len(columns), line)
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		t.Fatalf("%s: the table with the columns %s has no rows", page, strings.Join(columns, ", "))
	}
	return rows
}

// pattern matches packages by import path.
type pattern struct {
	path   string
	coming bool // whether the packages are planned but do not exist yet
}

func (p pattern) covers(importPath string) bool { return covers(p.path, importPath) }

func anyCovers(patterns []pattern, importPath string) bool {
	for _, p := range patterns {
		if p.covers(importPath) {
			return true
		}
	}
	return false
}

var patternCell = regexp.MustCompile("^`([^`]+)`( \\(coming\\))?$")

// readPatterns reads a table cell, which contains patterns in backquotes, separated by commas. Patterns for packages of
// this repository start with a dot.
func readPatterns(t *testing.T, cell string) []pattern {
	t.Helper()
	var all []pattern
	for text := range strings.SplitSeq(cell, ", ") {
		m := patternCell.FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("%q is no list of patterns in backquotes", cell)
		}
		p := pattern{path: m[1], coming: m[2] != ""}
		if p.path == "." || strings.HasPrefix(p.path, "./") {
			p.path = path.Join(module, p.path)
		}
		all = append(all, p)
	}
	return all
}

// The architecture page lists the main functions that run during the command "generate". maxTraced and
// maxTracedFiles limit the number of functions and files in this list, so that a new contributor can read all
// listed functions in an hour.
const (
	maxTraced      = 40 // functions
	maxTracedFiles = 20
)

// TestGenerateCanBeFollowed checks the table that lists the functions of the command "generate" in call order. Each
// function must exist in its file, and must be used by a function that the table lists earlier.
func TestGenerateCanBeFollowed(t *testing.T) {
	rows := findTable(t, "docs/design/architecture.md", "file", "function", "task")
	files, used := map[string]bool{}, map[string]bool{"main": true}
	for _, row := range rows {
		file, name := strings.Trim(row[0], "`"), strings.Trim(row[1], "`")
		files[file] = true
		declared := findFunction(t, file, name)
		if declared == nil {
			t.Errorf("%s has no function %s", file, name)
			continue
		}
		if !used[declared.Name.Name] {
			t.Errorf("%s: no earlier function of the table uses %s", file, name)
		}
		ast.Inspect(declared, func(n ast.Node) bool {
			if identifier, is := n.(*ast.Ident); is && n != declared.Name {
				used[identifier.Name] = true
			}
			return true
		})
	}
	if len(rows) > maxTraced || len(files) > maxTracedFiles {
		t.Errorf("the table has %d functions in %d files, want at most %d in %d", len(rows), len(files), maxTraced, maxTracedFiles)
	}
}

// findFunction finds the declaration of a function or of a method, such as Plan.Write.
func findFunction(t *testing.T, file, name string) *ast.FuncDecl {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, read(t, file), parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range parsed.Decls {
		f, is := d.(*ast.FuncDecl)
		if !is {
			continue
		}
		full := f.Name.Name
		if f.Recv != nil {
			full = receiver(f) + "." + full
		}
		if full == name {
			return f
		}
	}
	return nil
}

func TestDocsAreListed(t *testing.T) {
	index := string(read(t, "docs/README.md"))
	for _, file := range repo.Files(t) {
		page, isDoc := strings.CutPrefix(file, "docs/")
		if !isDoc || path.Ext(page) != ".md" || path.Dir(page) != "." || page == "README.md" {
			continue
		}
		if !strings.Contains(index, "]("+page+")") {
			t.Errorf("docs/README.md has no link to %s", page)
		}
	}
}
