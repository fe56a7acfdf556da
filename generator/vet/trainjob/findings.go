package trainjob

import (
	"slices"
	"strconv"
	"strings"

	"github.com/trainyard/trainyard/generator/internal/document"
	"github.com/trainyard/trainyard/generator/problem"
)

// newProblem returns a problem of a TrainJob. The argument "path" has the same form as a path in messages of the API
// server, such as spec.trainer.env[0].name.
func newProblem(job *document.Node, path string, rule problem.Rule, message string) problem.Problem {
	return problem.Problem{Position: locate(job, path), Rule: rule, Path: path, Message: rule.Name + ": " + message}
}

// locate returns the position of the value at a path. If the value is missing, locate returns the position of its
// nearest parent that exists.
func locate(job *document.Node, path string) problem.Position { return job.Locate(splitPath(path)...) }

// splitPath splits a path such as spec.env[0].name or labels[acme.example/team] into keys and indexes.
func splitPath(path string) []string {
	var steps []string
	for path != "" {
		path = strings.TrimPrefix(path, ".")
		if inside, ok := strings.CutPrefix(path, "["); ok {
			step, rest := cutBracket(inside)
			steps, path = append(steps, step), rest
			continue
		}
		end := strings.IndexAny(path, ".[")
		if end < 0 {
			end = len(path)
		}
		steps, path = append(steps, path[:end]), path[end:]
	}
	return steps
}

// cutBracket splits a text at a closing bracket. The argument "inside" is the text that follows the opening bracket.
// The result "step" is the text in the brackets, and the result "rest" is the text after the brackets. A key in quotes
// can contain brackets and dots.
func cutBracket(inside string) (step, rest string) {
	if quoted, err := strconv.QuotedPrefix(inside); err == nil {
		step, _ = strconv.Unquote(quoted) // cannot fail, because QuotedPrefix has parsed the quotes
		return step, strings.TrimPrefix(inside[len(quoted):], "]")
	}
	step, rest, _ = strings.Cut(inside, "]")
	return step, rest
}

// results holds the problems of one TrainJob in all environments.
type results struct{ invalid, denied, unenforced, notes findings }

func newResults(environments int) *results {
	none := findings{environments: environments}
	return &results{none, none, none, none}
}

type findings struct {
	environments int
	problems     problem.List
	foundIn      map[problem.Problem][]string // the environments that have a problem
}

func (f *findings) add(environment string, p problem.Problem) {
	if f.foundIn == nil {
		f.foundIn = map[problem.Problem][]string{}
	}
	if f.foundIn[p] == nil {
		f.problems = append(f.problems, p)
	}
	if !slices.Contains(f.foundIn[p], environment) {
		f.foundIn[p] = append(f.foundIn[p], environment)
	}
}

// listProblems returns the problems of all environments. If a problem occurs only in some environments, the message
// of the problem names these environments.
func (f *findings) listProblems() problem.List {
	for i, p := range f.problems {
		if environments := f.foundIn[p]; len(environments) < f.environments {
			f.problems[i].Message += " (found in environment " + strings.Join(environments, ", ") + ")"
		}
	}
	return f.problems
}
