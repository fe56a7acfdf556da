package trainjob

import (
	"fmt"
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

// readJob reads a TrainJob, and returns the values that the API server or the webhook of Trainer refuses.
func readJob(job *document.Node, reader guard.Reader) (guard.Job, field.ErrorList) {
	fields, _ := job.Plain().(map[string]any)
	read, errs := reader.Read(fields)
	if job.Get("spec").Empty() {
		errs = append(errs, field.Required(field.NewPath("spec"), "Trainer refuses a TrainJob without a runtime: write spec.runtimeRef.name"))
	}
	return read, errs
}

// refusedValue converts an error to a problem. The error describes a value that the API server refuses.
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

// invalidValues returns the values of a TrainJob that the API server refuses, and the paths of misspelled fields. If a
// required field is missing, and a field next to it is probably a misspelling of it, the result contains only the second.
func invalidValues(job *document.Node, read guard.Job, errs field.ErrorList) (found problem.List, misspelled map[string]bool) {
	misspelled = map[string]bool{}
	for _, err := range errs {
		if path := misspellingOf(err, read.Disallowed); path != "" {
			misspelled[path] = true
			found = append(found, newProblem(job, path, invalidValue, fmt.Sprintf("unknown field: did you mean %s?", lastKey(err.Field))))
			continue
		}
		found = append(found, refusedValue(job, err))
	}
	return found, misspelled
}

// misspellingOf returns the path of the unknown field that is probably the missing field of an error, or "".
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

// lastKey returns the last field of a path such as spec.runtimeRef.name.
func lastKey(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// isConsequence reports whether a denial follows from a problem that invalidValues returns.
func isConsequence(d guard.Denial, job guard.Job, misspelled map[string]bool) bool {
	return misspelled[d.Path] || d.Rule == guard.RuleUnlistedRuntime && job.Runtime.Name == ""
}
