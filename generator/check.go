package generator

import (
	"iter"
	"maps"
	"slices"

	"cuelang.org/go/cue"

	"github.com/trainyard/trainyard/generator/problem"
)

var (
	schemaPath   = cue.ParsePath("schema")
	problemsPath = cue.ParsePath("problems")
	notesPath    = cue.ParsePath("notes")
)

// check holds the document against the schema, and what is sound of it against
// the rules that look at several values. It reads what a sound document asks for.
func (w *work) check(on *engine) error {
	problems, ok := w.hold(on)
	if !ok {
		return problems.Err()
	}
	documents, doubts := on.supposed(w.sound)
	var j judged
	var found []problem.List
	for _, w.sound = range documents {
		var err error
		if j, err = w.judge(on, len(problems) == 0); err != nil {
			return err
		}
		found = append(found, j.problems)
	}
	if len(found) > 0 {
		problems = slices.Concat(problems, agreed(found, doubts))
	}
	if err := problems.Err(); err != nil {
		return err
	}
	notes, err := w.evaluate(on, j.filled.LookupPath(notesPath), true)
	if err != nil {
		return err
	}
	w.notes = slices.Concat(w.notes, notes, j.fitting.notes)
	w.requests, err = w.requestsOf(on, j.filled)
	if err != nil {
		return err
	}
	if err := w.deliver(on); err != nil {
		return err
	}
	w.delivery.Bounds = j.fitting.bounds()
	return nil
}

// judged is what comes of holding what is sound of a document against the rules.
type judged struct {
	filled   cue.Value // our CUE, with the document
	fitting  *fitting
	problems problem.List
}

// judge holds what is sound of the document against the rules that look at several values.
func (w *work) judge(on *engine, complete bool) (j judged, err error) {
	j.filled = on.fill(w.sound)
	if j.problems, err = w.evaluate(on, j.filled.LookupPath(problemsPath), complete); err != nil {
		return j, err
	}
	if j.fitting, err = w.fit(j.filled, complete); err != nil {
		return j, err
	}
	j.problems = slices.Concat(j.problems, j.fitting.problems)
	return j, nil
}

// hold holds the document against the schema, and keeps what is sound of it, with doubts where it is not; ok is
// false if nothing is.
func (w *work) hold(on *engine) (problems problem.List, ok bool) {
	definitions, _ := on.schema.ReferencePath()
	c := checker{engine: on, definitions: definitions, document: w.document, problems: w.problems, verdicts: &w.verdicts, judged: &w.judged, respelled: map[string]bool{}}
	sound, ok := c.value(on.schema, w.document, w.document.Position, nil)
	w.sound, _ = sound.(map[string]any) // the schema is a mapping
	return c.problems, ok
}

// listed are the tenants that list each runtime, in their order.
func listed(document map[string]any) map[string][]string {
	by := map[string][]string{}
	spec, _ := document["spec"].(map[string]any)
	tenants, _ := spec["tenants"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(tenants)) {
		tenant, _ := tenants[name].(map[string]any)
		runtimes, _ := tenant["runtimes"].([]any)
		for _, runtime := range runtimes {
			key, _ := runtime.(string)
			by[key] = append(by[key], name)
		}
	}
	return by
}

// finding is what a rule in rules.cue yields.
type finding struct {
	Path  []string `json:"path"`
	Says  string   `json:"says"`
	Given string   `json:"given"`
	Among []string `json:"among"`
}

// evaluate collects what rules find. In a document that is not complete, a
// rule that cannot be evaluated lacks a value that has been reported already; it is tried
// again on one runtime at a time, because most of them lack nothing.
func (w *work) evaluate(on *engine, rules cue.Value, complete bool) (problem.List, error) {
	problems, failed := w.apply(rules, nil)
	switch {
	case len(failed) == 0:
		return problems, nil
	case complete:
		rule := slices.Sorted(maps.Keys(failed))[0]
		return nil, bug("evaluating rule "+rule, failed[rule])
	}
	for alone := range w.runtimesAlone() {
		found, _ := w.apply(on.fill(alone).LookupPath(rules.Path()), failed)
		problems = append(problems, found...)
	}
	return problems, nil
}

// apply evaluates rules, of which it may be told, and says which ones cannot be evaluated.
func (w *work) apply(rules cue.Value, only map[string]error) (problems problem.List, failed map[string]error) {
	failed = map[string]error{}
	for fields := fieldsOf(rules); fields.Next(); {
		rule := fields.Selector().Unquoted()
		if _, wanted := only[rule]; only != nil && !wanted {
			continue
		}
		var findings []finding
		// Decode alone passes over a list that cannot be evaluated.
		err := fields.Value().Validate(cue.Concrete(true))
		if err == nil {
			err = fields.Value().Decode(&findings)
		}
		if err != nil {
			failed[rule] = err
		}
		for _, f := range findings {
			problems = append(problems, w.toProblem(ruleOf(rule), f))
		}
	}
	return problems, failed
}

// runtimesAlone ranges over copies of what is sound of the document, each with one of its runtimes.
func (w *work) runtimesAlone() iter.Seq[map[string]any] {
	return func(yield func(map[string]any) bool) {
		spec, _ := w.sound["spec"].(map[string]any)
		runtimes, _ := spec["runtimes"].(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(runtimes)) {
			alone, document := maps.Clone(spec), maps.Clone(w.sound)
			alone["runtimes"] = map[string]any{key: runtimes[key]}
			document["spec"] = alone
			if !yield(document) {
				return
			}
		}
	}
}

func (w *work) toProblem(rule problem.Rule, f finding) problem.Problem {
	message := f.Says
	switch {
	case len(f.Among) > 0:
		message = choice(f.Says+" "+problem.Quote(f.Given), f.Given, f.Among)
	case f.Given != "":
		message += " " + problem.Quote(f.Given)
	}
	return problem.Problem{Position: w.document.Locate(f.Path...), Rule: rule, Path: problem.Path(f.Path), Message: message}
}
