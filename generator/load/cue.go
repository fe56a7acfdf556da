package load

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"unicode/utf8"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/load"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"

	"github.com/trainyard/trainyard/api/message"
	"github.com/trainyard/trainyard/generator/internal/document"
	"github.com/trainyard/trainyard/generator/internal/values"
	"github.com/trainyard/trainyard/generator/problem"
)

// schemasPath is the prefix of the import paths of trainyard's schemas, which every document in CUE can import.
const schemasPath = "github.com/trainyard/trainyard/schemas/"

// parseCUE evaluates a document written in CUE. The result of the evaluation is checked like a document
// in YAML.
func (l *Loader) parseCUE(ctx *cue.Context, input Input) (*document.Node, error) {
	if err := document.Check(input.Name, input.Text); err != nil {
		return nil, err
	}
	file, err := parser.ParseFile(input.Name, input.Text)
	if err != nil {
		return nil, cueProblems(input, err)
	}
	if len(file.Decls) == 0 {
		return &document.Node{Position: problem.Position{File: input.Name, Line: 1, Column: 1}}, nil
	}
	if problems := refusedImports(input, file, l.AllowImports); problems != nil {
		return nil, problems
	}
	instance := build.NewContext(build.Loader(l.importSchema)).NewInstance("", l.importSchema)
	if err := instance.AddSyntax(file); err != nil {
		return nil, cueProblems(input, err)
	}
	if err := instance.Complete(); err != nil {
		return nil, cueProblems(input, err)
	}
	v := ctx.BuildInstance(instance)
	if err := v.Validate(); err != nil {
		return nil, withPositions(input, v, err)
	}
	r := cueReader{input: input}
	node := r.node(v, problem.Position{File: input.Name, Line: 1, Column: 1}, nil)
	return node, r.problems.Err()
}

// refusedImports reports the imports that a document must not contain. Every document may import trainyard's schemas.
// If the argument "allowOwn" is true, the document may also import CUE's built-in packages. If "allowOwn" is false,
// refusedImports also reports imports of built-in packages, because a document that uses these packages can easily
// compute forever.
func refusedImports(input Input, file *ast.File, allowOwn bool) error {
	var problems problem.List
	for imported := range file.ImportSpecs() {
		path, err := literal.Unquote(imported.Path.Value)
		own := !strings.Contains(strings.Split(path, "/")[0], ".")
		if err != nil || strings.HasPrefix(path, schemasPath) || own && allowOwn {
			continue
		}
		want := "want a package of " + schemasPath
		if own {
			want += "; to import packages of CUE itself, set --allow-cue-imports"
		}
		problems = append(problems, problem.Problem{
			Position: cuePosition(input, []token.Pos{imported.Path.Pos()}),
			Message:  fmt.Sprintf("cannot import %s: %s", message.Quote(path), want),
		})
	}
	return problems.Err()
}

// importSchema returns the package of trainyard's schemas with the given import path, or nil for a built-in
// package of CUE. For any other path, the result contains an error. Every definition in the returned
// package allows any value, so CUE does not complain about wrong values. Later, the check stage finds the
// wrong values, and reports them with clearer messages.
func (l *Loader) importSchema(pos token.Pos, path string) *build.Instance {
	path, _, _ = strings.Cut(path, ":")
	if !strings.Contains(strings.Split(path, "/")[0], ".") {
		return nil
	}
	if folder, ours := strings.CutPrefix(path, schemasPath); ours {
		if _, err := fs.Stat(l.Definitions, "schemas/"+folder); err == nil {
			return l.loadNames(folder, path)
		}
	}
	return &build.Instance{
		ImportPath: path,
		Err:        errors.Newf(pos, "cannot import %q: trainyard has no package with this path; want another package, such as %splatform", path, schemasPath),
	}
}

// loadNames reads one package of trainyard's schemas, and returns a new package. The new package contains definitions
// with the same names, but every definition in the new package allows any value.
func (l *Loader) loadNames(folder, path string) *build.Instance {
	whole := load.Instances([]string{"."}, &load.Config{FS: l.Definitions, Dir: "/schemas/" + folder})[0]
	names := &ast.File{Decls: []ast.Decl{&ast.Package{Name: ast.NewIdent(whole.PkgName)}}}
	seen := map[string]bool{}
	for _, file := range whole.Files {
		for _, declaration := range file.Decls {
			field, ok := declaration.(*ast.Field)
			if !ok {
				continue
			}
			if name, _, err := ast.LabelName(field.Label); err == nil && !seen[name] {
				seen[name] = true
				names.Decls = append(names.Decls, &ast.Field{Label: ast.NewIdent(name), Value: ast.NewIdent("_")})
			}
		}
	}
	instance := build.NewContext().NewInstance("", nil)
	instance.ImportPath, instance.PkgName = path, whole.PkgName
	if err := instance.AddSyntax(names); err != nil {
		instance.Err = err
	} else if err := instance.Complete(); err != nil {
		instance.Err = errors.Promote(err, "reading "+path)
	}
	return instance
}

// cueProblems converts CUE's errors to problems, with at most one problem for each field of the document. For a
// value that fits no alternative of a disjunction, CUE reports a conflict with each alternative. cueProblems
// reports only the first of several conflicts of a value.
func cueProblems(input Input, err error) problem.List {
	var problems problem.List
	seen := map[string]bool{}
	for _, e := range errors.Errors(err) {
		message, path := oneLine(e.Error()), problem.Path(e.Path())
		message = strings.TrimPrefix(strings.TrimPrefix(message, path+": "), strings.Join(e.Path(), ".")+": ")
		if strings.Contains(path, "let[") { // an internal name of CUE
			path = ""
		}
		if strings.Contains(message, "errors in empty disjunction") || path != "" && seen[path] {
			continue
		}
		seen[path] = true
		problems = append(problems, problem.Problem{
			Position: cuePosition(input, errors.Positions(e)),
			Path:     path,
			Message:  "not valid CUE: " + message,
		})
	}
	if len(problems) == 0 {
		return problem.List{{Position: cuePosition(input, errors.Positions(errors.Promote(err, ""))), Message: "not valid CUE: " + oneLine(err.Error())}}
	}
	return problems
}

// withPositions adds a position to each problem that CUE reports without a position. A problem without a position
// gets the position of its field, or of the nearest parent field that has a position.
func withPositions(input Input, v cue.Value, err error) problem.List {
	problems := cueProblems(input, err)
	for i, p := range problems {
		if p.Line > 1 || p.Column > 1 {
			continue
		}
		at := v
		for _, selector := range cue.ParsePath(p.Path).Selectors() {
			if name := selector.String(); strings.HasPrefix(name, `"#`) {
				selector = cue.Def(strings.Trim(name, `"`))
			}
			if at = at.LookupPath(cue.MakePath(selector)); at.Pos().Filename() == input.Name {
				problems[i].Line, problems[i].Column = at.Pos().Line(), countColumn(input.Text, at.Pos())
			}
		}
	}
	return problems
}

// cuePosition chooses one of the given positions: the position that comes last in the user's file. If no position is in
// the user's file, cuePosition returns the start of the file. For a wrong value, CUE lists the position of the value,
// and the position of the definition that the value violates. If both positions are in the user's file, the value
// usually comes after the definition.
func cuePosition(input Input, positions []token.Pos) problem.Position {
	last := problem.Position{File: input.Name, Line: 1, Column: 1}
	for _, p := range positions {
		if column := countColumn(input.Text, p); p.IsValid() && p.Filename() == input.Name && (p.Line() > last.Line || p.Line() == last.Line && column > last.Column) {
			last.Line, last.Column = p.Line(), column
		}
	}
	return last
}

// countColumn returns the column of a position, counted in characters. CUE counts columns in bytes.
func countColumn(text []byte, p token.Pos) int {
	start := p.Offset() - p.Column() + 1
	if start < 0 || p.Offset() < start || p.Offset() > len(text) {
		return p.Column()
	}
	return utf8.RuneCount(text[start:p.Offset()]) + 1
}

func oneLine(text string) string {
	return message.Shorten(strings.Join(strings.Fields(text), " "), 200)
}

type cueReader struct {
	input    Input
	nodes    int
	stopped  bool
	problems problem.List
}

func (r *cueReader) node(v cue.Value, near problem.Position, path []string) *document.Node {
	n := &document.Node{Position: r.position(v, near)}
	r.nodes++
	switch {
	case r.stopped:
		return n
	case len(path) > document.MaxDepth || r.nodes > document.MaxNodes:
		r.stopped = true
		r.add(n, nil, "too large: want at most %d levels of nested mappings and lists, and at most %d values", document.MaxDepth, document.MaxNodes)
		return n
	}
	v, _ = v.Default()
	switch v.Kind() {
	case cue.StructKind:
		r.mapping(n, v, path)
	case cue.ListKind:
		n.Kind = document.List
		items, _ := v.List() // for a list, List never returns an error
		for i := 0; items.Next(); i++ {
			n.Items = append(n.Items, r.node(items.Value(), n.Position, values.Extend(path, strconv.Itoa(i))))
		}
	default:
		r.scalar(n, v, path)
	}
	return n
}

func (r *cueReader) mapping(n *document.Node, v cue.Value, path []string) {
	n.Kind = document.Mapping
	fields, _ := v.Fields() // for a struct, Fields never returns an error
	for fields.Next() {
		selector := fields.Selector()
		if selector.ConstraintType() != 0 || isDefinition(fields.Value()) {
			continue
		}
		value := r.node(fields.Value(), n.Position, values.Extend(path, selector.Unquoted()))
		n.Fields = append(n.Fields, document.Field{Position: value.Position, Key: selector.Unquoted(), Value: value})
	}
}

// isDefinition reports whether a field is only a reference to a definition of trainyard's schemas, without a value of
// its own.
func isDefinition(v cue.Value) bool {
	if v.IncompleteKind() != cue.TopKind {
		return false
	}
	_, path := v.ReferencePath()
	selectors := path.Selectors()
	return len(selectors) > 0 && selectors[0].IsDefinition()
}

func (r *cueReader) scalar(n *document.Node, v cue.Value, path []string) {
	n.Kind = document.Scalar
	if !v.IsConcrete() {
		n.Unreadable = true
		r.add(n, path, "want a concrete value, got an incomplete value: %s", oneLine(fmt.Sprint(v)))
		return
	}
	var scalar any
	err := v.Decode(&scalar)
	switch scalar := scalar.(type) {
	case int:
		n.Scalar = int64(scalar)
	case string, bool, float64, int64, nil:
		n.Scalar = scalar
	default:
		err = errors.Newf(token.NoPos, "not a YAML value")
	}
	if err != nil {
		n.Unreadable = true
		r.add(n, path, "cannot read %s as a value", oneLine(fmt.Sprint(v)))
		return
	}
	if _, text := n.Scalar.(string); !text {
		n.Text = fmt.Sprint(v)
	}
}

func (r *cueReader) position(v cue.Value, near problem.Position) problem.Position {
	if p := v.Pos(); p.IsValid() && p.Filename() == r.input.Name {
		return problem.Position{File: r.input.Name, Line: p.Line(), Column: countColumn(r.input.Text, p)}
	}
	return near
}

func (r *cueReader) add(n *document.Node, path []string, format string, args ...any) {
	r.problems = append(r.problems, problem.Problem{Position: n.Position, Path: problem.Path(path), Message: fmt.Sprintf(format, args...)})
}
