package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	sarif "github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/trainyard/trainyard/cmd/internal/report"
)

// scriptFolder is absolute, because some tests change the working directory.
var scriptFolder, _ = filepath.Abs(filepath.Join("testdata", "script"))

// formatReaders contains a function for each report format. Each function reads a report in the same way as a
// program that supports the format, such as GitHub Actions.
var formatReaders = map[string]func(*testing.T, []byte) []finding{
	"text":   readText,
	"json":   readJSON,
	"sarif":  readSARIF,
	"github": readGitHub,
}

func readText(_ *testing.T, text []byte) []finding {
	var found []finding
	for line := range strings.Lines(string(text)) {
		line, note := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "note: ")
		if strings.Contains(line, ": no problems") || strings.HasPrefix(line, "needs: ") {
			continue
		}
		found = append(found, finding{Note: note, Line: line})
	}
	return found
}

func readJSON(t *testing.T, text []byte) []finding {
	t.Helper()
	validate(t, jsonSchema, text)
	type entry struct {
		File, Path, Severity, Rule, Message string
		Line, Column                        int
	}
	var report struct{ Problems, Notes []entry }
	if err := json.Unmarshal(text, &report); err != nil {
		t.Fatal(err)
	}
	var found []finding
	for _, e := range append(report.Problems, report.Notes...) {
		found = append(found, finding{e.Severity == "note", e.Rule, positioned(e.File, e.Line, e.Column, withPath(e.Path, e.Message))})
	}
	return found
}

// readSARIF reads SARIF with a library that many tools use.
func readSARIF(t *testing.T, text []byte) []finding {
	t.Helper()
	validate(t, sarifSchema, text)
	report, err := sarif.FromBytes(text, sarif.WithStrictValidation())
	if err != nil {
		t.Fatalf("reading SARIF: %v", err)
	}
	run := report.Runs[0]
	var found []finding
	for _, r := range run.Results {
		if rule := run.Tool.Driver.Rules[r.RuleIndex]; *rule.ID != *r.RuleID || *rule.ShortDescription.Text == "" || *rule.Help.Text == "" {
			t.Errorf("the rule at index %d is %s, want %s with a description", r.RuleIndex, *rule.ID, *r.RuleID)
		}
		if len(r.PartialFingerprints) != 1 {
			t.Errorf("a result has %d fingerprints, want 1", len(r.PartialFingerprints))
		}
		at := r.Locations[0].PhysicalLocation
		file, err := url.PathUnescape(*at.ArtifactLocation.URI)
		if err != nil {
			t.Errorf("reading the URI: %v", err)
		}
		line := positioned(file, *at.Region.StartLine, *at.Region.StartColumn, strings.ReplaceAll(*r.Message.Text, `\](`, "]("))
		found = append(found, finding{r.Level == "note", *r.RuleID, line})
	}
	return found
}

// workflowCommand matches workflow commands as the runner of GitHub Actions does.
// Source: actions/runner, src/Runner.Common/ActionCommand.cs.
var workflowCommand = regexp.MustCompile(`^::([a-z]+) ([^:]*(?::[^:]+)*?)::(.*)$`)

func readGitHub(t *testing.T, text []byte) []finding {
	t.Helper()
	var found []finding
	for line := range strings.Lines(string(text)) {
		m := workflowCommand.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil || m[1] != "error" && m[1] != "notice" {
			t.Fatalf("not an annotation: %s", line)
		}
		properties := map[string]string{}
		for _, property := range strings.Split(m[2], ",") {
			name, value, _ := strings.Cut(property, "=")
			properties[name] = unescape(t, value)
		}
		message := unescape(t, m[3])
		_, rule, ok := strings.Cut(properties["title"], " ")
		if !ok {
			continue // a failure, which has no position
		}
		if at := fmt.Sprintf("%s:%s:%s: ", properties["file"], properties["line"], properties["col"]); !strings.HasPrefix(message, at) {
			t.Errorf("the properties have position %s, but the message is %s", at, message)
		}
		found = append(found, finding{m[1] == "notice", rule, message})
	}
	return found
}

func unescape(t *testing.T, text string) string {
	t.Helper()
	plain, err := url.PathUnescape(text)
	if err != nil {
		t.Errorf("reading %q: %v", text, err)
	}
	return plain
}

func positioned(file string, line, column int, message string) string {
	return fmt.Sprintf("%s:%d:%d: %s", file, line, column, message)
}

func withPath(path, message string) string {
	if path == "" {
		return message
	}
	return path + ": " + message
}

// validate checks a text against a JSON Schema, including formats such as uri.
func validate(t *testing.T, schema func() (*jsonschema.Schema, error), text []byte) {
	t.Helper()
	compiled, err := schema()
	if err != nil {
		t.Fatalf("reading the schema: %v", err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("reading JSON: %v\n%s", err, text)
	}
	if err := compiled.Validate(value); err != nil {
		t.Errorf("want a text that is valid for the schema, got: %v\n%s", err, text)
	}
}

var jsonSchema = sync.OnceValues(func() (*jsonschema.Schema, error) { return compile(report.Schema) })

// sarifSchema is the SARIF schema of OASIS. The schema is a string in the source code of the library go-sarif, so the
// test reads that source code.
var sarifSchema = sync.OnceValues(func() (*jsonschema.Schema, error) {
	list := exec.Command("go", "list", "-f", "{{.Dir}}", "github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif")
	list.Dir = scriptFolder
	dir, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("finding go-sarif: %w", err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(strings.TrimSpace(string(dir)), "schema.go"), nil, 0)
	if err != nil {
		return nil, err
	}
	text := ""
	ast.Inspect(file, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok {
			text = constant.StringVal(constant.MakeFromLiteral(literal.Value, literal.Kind, 0))
		}
		return true
	})
	return compile(text)
})

func compile(text string) (*jsonschema.Schema, error) {
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("https://example.com/schema.json", value); err != nil {
		return nil, err
	}
	return compiler.Compile("https://example.com/schema.json")
}
