package trainjob

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trainyard/trainyard/api/message"
	"github.com/trainyard/trainyard/generator/internal/document"
	"github.com/trainyard/trainyard/generator/internal/wording"
	"github.com/trainyard/trainyard/generator/problem"
	"github.com/trainyard/trainyard/policies/guard"
)

// readJob converts a TrainJob to a guard.Job. Each error describes a value that the API server or the webhook of
// Trainer refuses.
func readJob(job *document.Node, reader guard.Reader) (guard.Job, field.ErrorList) {
	fields, _ := job.Plain().(map[string]any)
	read, errs := reader.Read(fields)
	if job.Get("spec").Empty() {
		errs = append(errs, field.Required(field.NewPath("spec"), "Trainer refuses a TrainJob without a runtime: write spec.runtimeRef.name"))
	}
	return read, withoutConsequences(errs)
}

// withoutConsequences removes errors that follow from a wrong type. If a field has a wrong type, withoutConsequences keeps
// only the type error of this field.
func withoutConsequences(errs field.ErrorList) field.ErrorList {
	c := newConsequences(errs)
	return slices.DeleteFunc(errs, func(err *field.Error) bool { return err.Type != field.ErrorTypeTypeInvalid && c.cover(err.Field) })
}

// consequences is a struct that holds the paths of two kinds of mistakes: values with a wrong type, and misspelled
// fields. The API server refuses a TrainJob with such a mistake. The mistake can also cause other problems, which would
// not exist without the mistake. The methods of the type "consequences" recognize these other problems.
type consequences struct {
	wrongTypes []string        // paths of values with a wrong type
	misspelled map[string]bool // paths of misspelled fields
}

func newConsequences(errs field.ErrorList) consequences {
	c := consequences{misspelled: map[string]bool{}}
	for _, err := range errs {
		if err.Type == field.ErrorTypeTypeInvalid {
			c.wrongTypes = append(c.wrongTypes, err.Field)
		}
	}
	return c
}

// cover reports whether a path leads to a value that has a wrong type, or to a part of such a value.
func (c consequences) cover(path string) bool {
	return slices.ContainsFunc(c.wrongTypes, func(wrong string) bool {
		rest, ok := strings.CutPrefix(path, wrong)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}

// includes is a method that returns true if one of three mistakes causes a denial. The three mistakes are a value of a
// wrong type, a misspelled field, and a missing runtime name. The API server refuses a TrainJob with one of these
// mistakes.
func (c consequences) includes(d guard.Denial, job guard.Job) bool {
	return c.misspelled[d.Path] || c.cover(d.Path) || d.Rule == guard.RuleUnlistedRuntime && job.Runtime.Name == ""
}

// refusedValue converts an error to a problem with a position. The error describes a value that the API server refuses.
func refusedValue(job *document.Node, err *field.Error) problem.Problem {
	if err.Type != field.ErrorTypeTypeInvalid {
		return newProblem(job, err.Field, invalidValue, err.Detail)
	}
	text := err.Detail
	if given := nodeAt(job, err.Field); given != nil {
		text += ", got " + wording.Describe(given, cue.TopKind)
	}
	return newProblem(job, err.Field, wrongType, text)
}

// nodeAt returns the value of a TrainJob at a path such as spec.trainer.env[0].name, or nil if there is no such value.
func nodeAt(n *document.Node, path string) *document.Node {
	for _, step := range splitPath(path) {
		if n == nil {
			return nil
		}
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(n.Items) {
			n = n.Items[i]
			continue
		}
		n = n.Get(step)
	}
	return n
}

// invalidValues reports the values that the API server refuses in a TrainJob. A refused value can cause further
// problems. The methods of the result "c" recognize these further problems. If an unknown field is probably a
// misspelling of a missing field, invalidValues reports only the unknown field.
func invalidValues(job *document.Node, read guard.Job, errs field.ErrorList) (found problem.List, c consequences) {
	c = newConsequences(errs)
	for _, err := range errs {
		if path := misspellingOf(err, read.Disallowed); path != "" {
			c.misspelled[path] = true
			found = append(found, newProblem(job, path, invalidValue, fmt.Sprintf("unknown field: did you mean %q?", lastKey(err.Field))))
			continue
		}
		found = append(found, refusedValue(job, err))
	}
	return found, c
}

// misspellingOf returns the path of an unknown field that is probably a misspelling of a missing field. The error
// "err" reports the missing field. If "err" reports another mistake, or no unknown field is similar, the result
// is empty.
func misspellingOf(err *field.Error, unknown []guard.DisallowedField) string {
	if err.Type != field.ErrorTypeRequired {
		return ""
	}
	missing := lastKey(err.Field)
	parent := strings.TrimSuffix(err.Field, missing)
	for _, f := range unknown {
		key, ok := strings.CutPrefix(f.Path.String(), parent)
		if ok && message.Nearest(key, []string{missing}) != "" {
			return f.Path.String()
		}
	}
	return ""
}

// lastKey returns the last key of a path. For example, the last key of spec.runtimeRef.name is name.
func lastKey(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }
