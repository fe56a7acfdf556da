package generator

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/format"
	"cuelang.org/go/cue/parser"
)

// schemaFolder is the package that defines #Platform.
const schemaFolder = "schemas/platform"

// writeCUE makes one file of the package: every import is CUE's own.
func writeCUE(p *Pipeline, _ *engine, _ whole) ([]byte, error) {
	names, err := fs.Glob(p.definitions, path.Join(schemaFolder, "*.cue"))
	if err != nil {
		return nil, fmt.Errorf("listing the schema: %w", err)
	}
	var imports []string
	var body bytes.Buffer
	for _, name := range names {
		text, err := fs.ReadFile(p.definitions, name)
		if err != nil {
			return nil, fmt.Errorf("reading the schema: %w", err)
		}
		imported, rest, err := cutHead(name, text)
		if err != nil {
			return nil, bug("reading the schema", err)
		}
		imports = append(imports, imported...)
		body.Write(rest)
	}
	slices.Sort(imports)
	head := "// The platform document of trainyard. Hold one against it with: cue vet -d '#Platform' platform.cue platform.yaml\npackage " + path.Base(schemaFolder) + "\n\n"
	for _, imported := range slices.Compact(imports) {
		head += "import " + imported + "\n"
	}
	return format.Source(append([]byte(head), body.Bytes()...))
}

// cutHead takes the package clause and the imports off a file.
func cutHead(name string, text []byte) (imports []string, body []byte, err error) {
	file, err := parser.ParseFile(name, text, parser.ParseComments)
	if err != nil {
		return nil, nil, err
	}
	for imported := range file.ImportSpecs() {
		imports = append(imports, imported.Path.Value)
	}
	end := 0
	for _, declaration := range file.Decls {
		switch declaration.(type) {
		case *ast.Package, *ast.ImportDecl:
			end = declaration.End().Offset()
		}
	}
	return imports, text[end:], nil
}
