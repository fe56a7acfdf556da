package generator

import (
	"cuelang.org/go/cue"

	"github.com/trainyard/trainyard/generator/internal/document"
	"github.com/trainyard/trainyard/generator/problem"
)

var (
	documentPath = cue.ParsePath("document")
	problemsPath = cue.ParsePath("problems")
	notesPath    = cue.ParsePath("notes")
	requestsPath = cue.ParsePath("requests")
)

// check holds the document against the schema, and what is sound of it against
// the rules that look at several values.
func (w *work) check() error {
	definitions, _ := w.schema.ReferencePath()
	c := checker{context: w.context, definitions: definitions, document: w.document, problems: w.problems, verdicts: w.verdicts}
	sound, ok := c.value(w.schema, w.document, w.document.Position, nil)
	if !ok {
		return c.problems.Err()
	}
	w.filled = w.definitions.FillPath(documentPath, sound)
	if r := w.document.Get("spec").Get("runtimes"); r != nil && r.Kind == document.Mapping && len(r.Fields) == 0 {
		c.add(w.document.Locate("spec", "runtimes"), []string{"spec", "runtimes"}, "want at least one runtime")
	}
	complete := len(c.problems) == 0
	found, err := w.evaluate(problemsPath, complete)
	if err != nil {
		return err
	}
	if err := append(c.problems, found...).Err(); err != nil {
		return err
	}
	notes, err := w.evaluate(notesPath, complete)
	w.notes = append(w.notes, notes...)
	return err
}

// finding is what a rule in rules.cue yields.
type finding struct {
	Path  []string `json:"path"`
	Says  string   `json:"says"`
	Given string   `json:"given"`
	Among []string `json:"among"`
}

// evaluate collects what the rules at a path find. In a document that is not complete, a
// rule that cannot be evaluated lacks a value that has been reported already.
func (w *work) evaluate(path cue.Path, complete bool) (problem.List, error) {
	var problems problem.List
	for rules := fieldsOf(w.filled.LookupPath(path)); rules.Next(); {
		var findings []finding
		// Decode alone passes over a list that cannot be evaluated.
		err := rules.Value().Validate(cue.Concrete(true))
		if err == nil {
			err = rules.Value().Decode(&findings)
		}
		switch {
		case err != nil && complete:
			return nil, bug("evaluating rule "+rules.Selector().String(), err)
		case err != nil:
			continue
		}
		for _, f := range findings {
			problems = append(problems, w.toProblem(f))
		}
	}
	return problems, nil
}

func (w *work) toProblem(f finding) problem.Problem {
	message := f.Says
	if len(f.Among) > 0 {
		message = choice(f.Says+" "+problem.Quote(f.Given), f.Given, f.Among)
	}
	return problem.Problem{Position: w.document.Locate(f.Path...), Path: problem.Path(f.Path), Message: message}
}
