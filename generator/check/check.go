// Package check compares a document with its schema, and checks the rules that combine several values. All problems
// are reported together, each with its position, the allowed values, and a suggestion.
package check

import (
	"maps"
	"slices"
	"sync"

	"cuelang.org/go/cue"

	"github.com/trainyard/trainyard/api/message"
	"github.com/trainyard/trainyard/generator/capacity"
	"github.com/trainyard/trainyard/generator/evaluate"
	"github.com/trainyard/trainyard/generator/internal/values"
	"github.com/trainyard/trainyard/generator/internal/wording"
	"github.com/trainyard/trainyard/generator/load"
	"github.com/trainyard/trainyard/generator/problem"
)

var (
	problemsPath = cue.ParsePath("problems")
	notesPath    = cue.ParsePath("notes")
)

// Checked is a document without problems.
type Checked struct {
	*load.Document
	Values   map[string]any // the document as plain data
	Filled   cue.Value      // trainyard's CUE definitions with the document filled in
	Listed   map[string][]string
	Capacity *capacity.Result
	Notes    problem.List // notes from the stages load and check, and from the package "capacity"
}

// Check is the check stage. One Check serves the documents of all environments, and caches results that are
// the same in several environments. Several goroutines can use a Check at the same time.
type Check struct {
	verdicts sync.Map // maps each verdictKey to true if the field admits the scalar, and to false otherwise
	valid    sync.Map // maps each mappingKey to the plain data of a valid mapping
}

// Document checks a document against its schema and all rules. If the document has problems, the error is a
// problem.List.
func (c *Check) Document(e *evaluate.Evaluator, d *load.Document) (*Checked, error) {
	w := c.walk(e, d)
	misspelled, devices := capacity.Misspellings(d, w.document)
	w.problems = append(w.problems, misspelled...)
	if !w.ok {
		return nil, w.problems.Err()
	}
	r := rules{evaluator: e, document: d, refused: slices.Concat(w.refused, devices), reported: slices.Concat(w.refused, w.reported, devices)}
	if err := r.check(w.document, w.problems); err != nil {
		return nil, err
	}
	checked := &Checked{Document: d, Values: w.document, Filled: r.filled, Listed: listingTenants(w.document), Capacity: r.capacity}
	notes, err := r.evaluate(notesPath)
	checked.Notes = slices.Concat(d.Notes, notes, r.capacity.Notes)
	return checked, err
}

// Values compares a document with its schema, and returns the valid parts of the document as plain data. Values
// does not evaluate the rules in the files rules*.cue.
func (c *Check) Values(e *evaluate.Evaluator, d *load.Document) (map[string]any, problem.List) {
	w := c.walk(e, d)
	return w.document, w.problems
}

type walked struct {
	document map[string]any // as plain data, without refused values
	ok       bool           // whether the document has all required keys
	problems problem.List
	refused  refusedPaths
	reported refusedPaths
}

func (c *Check) walk(e *evaluate.Evaluator, d *load.Document) walked {
	schema := e.Schema()
	definitions, _ := schema.ReferencePath()
	w := checker{Check: c, schemas: evaluate.Local(e, newSchemas), evaluator: e, definitions: definitions, document: d.Root, problems: d.Problems, respelled: map[string]bool{}}
	value, ok := w.checkValue(schema, d.Root, d.Root.Position, nil)
	document, _ := value.(map[string]any) // nil if the document is not a mapping
	if w.isOtherKind(schema, d.Root) {
		w.problems = slices.DeleteFunc(w.problems, func(p problem.Problem) bool { return p.Path != "kind" && !slices.Contains(d.Problems, p) })
	}
	return walked{document, ok, w.problems, w.refused, w.reported}
}

// listingTenants maps each runtime to the sorted names of the tenants that list this runtime.
func listingTenants(document map[string]any) map[string][]string {
	by := map[string][]string{}
	tenants := values.Mapping(document, "spec", "tenants")
	for _, name := range slices.Sorted(maps.Keys(tenants)) {
		runtimes, _ := values.Mapping(tenants, name)["runtimes"].([]any)
		for _, runtime := range runtimes {
			key, _ := runtime.(string)
			by[key] = append(by[key], name)
		}
	}
	return by
}

type rules struct {
	evaluator *evaluate.Evaluator
	document  *load.Document
	refused   refusedPaths
	reported  refusedPaths // the paths of all problems of the schema, and of misspelled devices
	filled    cue.Value    // trainyard's CUE definitions with the document filled in
	capacity  *capacity.Result
}

// check has two steps: it evaluates the rules, and it compares the resources that TrainJobs need with the quotas of
// tenants and queues. The second step skips values that have problems. The argument "document" does not contain the
// values that the checker has refused. If a refused value could change the results of all rules, neither of the two
// steps runs. This happens, for example, if the schema refuses a value in spec.target. For some problems, such as a
// repeated item of a list, the wrong value stays in the argument "document". The second step does not run if such a
// wrong value could change all its results, or if the load stage has found a problem. The argument "problems" contains
// the problems that earlier checks have found. The returned error contains these problems and all new ones.
func (r *rules) check(document map[string]any, problems problem.List) error {
	if r.refused.decideAll() {
		return problems.Err()
	}
	by := listingTenants(document)
	r.refused.listAll(by, document)
	r.filled = r.evaluator.Fill(map[string]any{"document": document, "listed": by})
	found, err := r.evaluate(problemsPath)
	if err != nil {
		return err
	}
	problems = slices.Concat(problems, found)
	if len(r.document.Problems) > 0 || r.reported.decideAll() {
		return problems.Err()
	}
	r.capacity, err = capacity.Compare(r.document, document, r.filled, capacity.Reported(r.reported))
	switch {
	case err != nil && len(problems) > 0: // a consequence of the problems
		return problems.Err()
	case err != nil:
		return err
	}
	return slices.Concat(problems, r.capacity.Problems).Err()
}

// finding is the Go type of #Finding in rules.cue.
type finding struct {
	Path    []string `json:"path"`
	Message string   `json:"message"`
	Given   string   `json:"given"`
	Allowed []string `json:"allowed"`
	Meant   []string `json:"meant"`
}

// evaluate returns findings of the rules: problems if the argument "path" is problemsPath, and notes if it is
// notesPath. It leaves out findings that could be consequences of refused values.
func (r *rules) evaluate(path cue.Path) (problems problem.List, err error) {
	var all map[string]struct {
		Doc   string    `json:"doc"`
		Found []finding `json:"found"`
	}
	if err := evaluate.Decode(r.filled.LookupPath(path), &all, "rules"); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for _, f := range r.refused.filter(all[name].Found) {
			problems = append(problems, r.problem(problem.Rule{Name: name, Doc: all[name].Doc}, f))
		}
	}
	return problems, nil
}

func (r *rules) problem(rule problem.Rule, f finding) problem.Problem {
	text := f.Message
	switch {
	case len(f.Meant) > 0:
		text += " " + message.Quote(f.Given) + ": " + wording.Suggestion(f.Meant)
	case len(f.Allowed) > 0:
		text = wording.Choice(f.Message+" "+message.Quote(f.Given), f.Given, f.Allowed)
	case f.Given != "":
		text += " " + message.Quote(f.Given)
	}
	return problem.Problem{Position: r.document.Root.Locate(f.Path...), Rule: rule, Path: problem.Path(f.Path), Message: text}
}
