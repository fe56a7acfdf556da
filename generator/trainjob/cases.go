package trainjob

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/trainyard/trainyard/generator/internal/document"
	"github.com/trainyard/trainyard/generator/problem"
	"github.com/trainyard/trainyard/policies/cases"
)

// Case is one of a policy test, with the places of what it says.
type Case struct {
	cases.Case
	node *document.Node
}

// maxCases bounds what is read of a file; the parser says that one of this size is too large.
const maxCases = document.MaxBytes + 1

// ReadCases reads the files *.yaml and *.yml of a folder, by their paths. What is wrong with them is a
// problem.List. A folder without any cases is an error: a test must not pass because nothing was tried.
func ReadCases(folder string) (map[string][]Case, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("reading cases: %w", err)
	}
	all, problems := map[string][]Case{}, problem.List{}
	for _, entry := range entries {
		if ext := filepath.Ext(entry.Name()); entry.IsDir() || ext != ".yaml" && ext != ".yml" {
			continue
		}
		path := filepath.Join(folder, entry.Name())
		text, err := readBounded(path)
		if err != nil {
			return nil, fmt.Errorf("reading cases: %w", err)
		}
		var wrong problem.List
		if all[path], err = casesIn(path, text); errors.As(err, &wrong) {
			problems = append(problems, wrong...)
		} else if err != nil {
			return nil, err
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("reading cases: %s has no file *.yaml", folder)
	}
	return all, problems.Err()
}

func casesIn(name string, text []byte) ([]Case, error) {
	documents, err := document.ParseStream(name, text)
	if err != nil {
		return nil, unreadable(err)
	}
	r := caseReader{file: name, seen: map[string]bool{}}
	for _, n := range documents {
		r.document(n)
	}
	if len(documents) == 0 {
		r.add(&document.Node{Position: problem.Position{File: name, Line: 1, Column: 1}}, "want cases, got nothing")
	}
	return r.cases, r.problems.Err()
}

// Misfits are values of its TrainJob that no API server of a platform takes, so that nobody would
// come to judge it.
func (c Case) Misfits(p Platform) problem.List {
	terms, ok := p.tenants[c.Tenant]
	if !ok {
		return nil
	}
	var found problem.List
	for key, fields := range map[string]map[string]any{"before": c.Before, "trainJob": c.TrainJob} {
		if fields == nil {
			continue
		}
		_, wrong := terms.reader.Read(fields)
		for _, err := range wrong {
			found = append(found, at(c.node.Get(key), err.Field, wrongType, err.Detail))
		}
	}
	return found
}

// Place is where a case says a thing, or where it should: admitted, refused, tenant and so on.
func (c Case) Place(key string) problem.Position { return c.node.Locate(key) }

// Unlike says how an outcome differs from what the case expects, at the place of what it expects,
// with the places in its TrainJob; ok is false if it does not differ.
func (c Case) Unlike(o cases.Outcome) (p problem.Problem, ok bool) {
	placed := o
	placed.Messages = nil
	for _, message := range o.Messages {
		placed.Messages = append(placed.Messages, c.placed(message))
	}
	about, how := placed.Unlike(c.Case)
	return problem.Problem{Position: c.Place(about), Rule: unlike, Message: c.Name + ": " + how}, how != ""
}

// placed puts the place in the TrainJob before a message that names a path in it.
func (c Case) placed(message string) string {
	path, _, _ := strings.Cut(message, ":")
	if !strings.HasPrefix(path, "spec") && !strings.HasPrefix(path, "metadata") {
		return message
	}
	return place(c.node.Get("trainJob"), path).String() + ": " + message
}

// index is an item of cases in a path.
func index(i int) string { return "cases." + strconv.Itoa(i) }
