package trainjob

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/trainyard/trainyard/generator/internal/document"
	"github.com/trainyard/trainyard/generator/problem"
	"github.com/trainyard/trainyard/policies/cases"
)

// Case is one TrainJob of a policy test, together with the expected result and the positions of all fields.
type Case struct {
	cases.Case
	node *document.Node
}

// ReadCases reads the cases of all files *.yaml and *.yml in a folder. The keys of the result are the paths of the
// files. If a file is invalid, the error is a problem.List. If a folder contains no case files, ReadCases returns
// an error, because a test without cases must not pass.
func ReadCases(folder string) (map[string][]Case, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("reading cases: %w", err)
	}
	files, problems := map[string][]Case{}, problem.List{}
	for _, entry := range entries {
		if ext := filepath.Ext(entry.Name()); entry.IsDir() || ext != ".yaml" && ext != ".yml" {
			continue
		}
		path := filepath.Join(folder, entry.Name())
		var invalid problem.List
		if files[path], err = readFile(path); errors.As(err, &invalid) {
			problems = append(problems, invalid...)
		} else if err != nil {
			return nil, fmt.Errorf("reading cases: %w", err)
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("reading cases: folder %s contains no .yaml or .yml files", folder)
	}
	return files, problems.Err()
}

// readFile reads the cases in a file. The parser refuses a text that is longer than document.MaxBytes. Therefore
// readFile reads at most document.MaxBytes+1 bytes of a file. These bytes are enough for the parser to refuse a longer
// file.
func readFile(path string) ([]Case, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, document.MaxBytes+1))
	if err != nil {
		return nil, err
	}
	documents, err := document.ParseStream(path, text)
	if err != nil {
		return nil, err
	}
	r := caseReader{names: map[string]bool{}}
	for _, n := range documents {
		r.document(n)
	}
	if len(documents) == 0 {
		r.add(problem.Position{File: path, Line: 1, Column: 1}, "want cases, got nothing")
	}
	return r.cases, r.problems.Err()
}

// TypeErrors reports values that the API server refuses before it evaluates the rules, such as values with
// a wrong type. TypeErrors reads the submitted TrainJob of the case and, for an update, also the TrainJob
// before the update.
func (c Case) TypeErrors(p Platform) problem.List {
	rules, ok := p.tenants[c.Tenant]
	if !ok {
		return nil
	}
	var found problem.List
	for _, each := range []struct {
		key    string
		fields map[string]any
	}{{"before", c.Before}, {"trainJob", c.TrainJob}} {
		if each.fields == nil {
			continue
		}
		_, errs := rules.reader.Read(each.fields)
		for _, err := range withoutConsequences(errs) {
			found = append(found, refusedValue(c.node.Get(each.key), err))
		}
	}
	return found
}

// Position returns the position of a field of the case. The argument "field" is the name of the field, such as
// "admitted".
func (c Case) Position(field string) problem.Position { return c.node.Locate(field) }

// Mismatch compares an outcome with the result that the case expects, and returns the difference as a problem. The
// difference concerns one field of the case, such as the field "admitted". The position of the problem is the position
// of this field. The result "ok" is false if there is no difference.
func (c Case) Mismatch(o cases.Outcome) (p problem.Problem, ok bool) {
	located := o
	located.Messages = nil
	for _, message := range o.Messages {
		located.Messages = append(located.Messages, c.withPosition(message))
	}
	field, difference := located.Mismatch(c.Case)
	return problem.Problem{Position: c.Position(field), Rule: failedTest, Message: c.Name + ": " + difference}, difference != ""
}

// withPosition puts the position of a value in front of a message that begins with the value's path
// in the TrainJob. Other messages stay unchanged.
func (c Case) withPosition(message string) string {
	path, _, _ := strings.Cut(message, ":")
	if !strings.HasPrefix(path, "spec") && !strings.HasPrefix(path, "metadata") {
		return message
	}
	return locate(c.node.Get("trainJob"), path).String() + ": " + message
}
