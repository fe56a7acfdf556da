package schema

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/format"
	"cuelang.org/go/cue/parser"

	"github.com/trainyard/trainyard/generator/evaluate"
	"github.com/trainyard/trainyard/generator/problem"
)

// schemaFolder is the folder of the CUE package that defines #Platform.
const schemaFolder = "schemas/platform"

// requirements matches sentences that begin with "Requirement:" in the comments of the CUE schema. These sentences
// contain the numbers of trainyard's own requirements. The exported schema omits these sentences, because they are only
// for developers. A matched sentence can extend over several comment lines. The regular expression has two
// alternatives. The first alternative is for a sentence that fills whole lines. A match of the first alternative begins
// with the line break before the sentence, and ends with the line break after the sentence. The second alternative is
// for all other sentences. A match of the second alternative begins with the "//" or full stop before the sentence, and
// ends with the sentence. The "//" is the start of a comment line, and the full stop is the end of the previous
// sentence. writeCUE removes each matched sentence from the schema. After a match of the first alternative, writeCUE
// keeps the line break after the sentence. After a match of the second alternative, writeCUE keeps the "//" or the full
// stop.
var requirements = regexp.MustCompile(`\n[ \t]*// ` + requirement + `(\n)|(//|\.) ` + requirement)

const requirement = `Requirement:(?:[^.\n]|\n\s*//)*\.`

// writeCUE writes the schema package as one file, which imports only CUE's built-in packages.
func writeCUE(e *evaluate.Evaluator, _ bool) ([]byte, error) {
	names, err := fs.Glob(e.Files(), path.Join(schemaFolder, "*.cue"))
	if err != nil {
		return nil, fmt.Errorf("listing the schema: %w", err)
	}
	var imports []string
	var body bytes.Buffer
	for _, name := range names {
		text, err := fs.ReadFile(e.Files(), name)
		if err != nil {
			return nil, fmt.Errorf("reading the schema: %w", err)
		}
		imported, rest, err := cutHead(name, text)
		if err != nil {
			return nil, problem.Fault("reading the schema", err)
		}
		imports = append(imports, imported...)
		body.Write(requirements.ReplaceAll(rest, []byte("$1$2")))
	}
	slices.Sort(imports)
	head := "// The platform document of trainyard. Check a document with: cue vet -d '#Platform' platform.cue platform.yaml\npackage " + path.Base(schemaFolder) + "\n\n"
	for _, imported := range slices.Compact(imports) {
		head += "import " + imported + "\n"
	}
	return format.Source(append([]byte(head), body.Bytes()...))
}

// cutHead removes the package clause and the imports from the text of a file. cutHead returns the list of imports and
// the remaining text.
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
