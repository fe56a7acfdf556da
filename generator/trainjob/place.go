package trainjob

import (
	"slices"
	"strconv"
	"strings"

	"github.com/trainyard/trainyard/generator/internal/document"
	"github.com/trainyard/trainyard/generator/problem"
)

// at is a problem of a TrainJob, at a path as the API server writes it.
func at(job *document.Node, path string, rule problem.Rule, says string) problem.Problem {
	return problem.Problem{Position: place(job, path), Rule: rule, Path: path, Message: rule.Name + ": " + says}
}

// place is where a value stands, or where it would belong. Of a mapping, a list and a field that
// does not belong there, it is the key.
func place(job *document.Node, path string) problem.Position { return job.Locate(steps(path)...) }

// steps are the keys and indexes of a path such as spec.env[0].name or labels[acme.example/team].
func steps(path string) []string {
	var steps []string
	for path != "" {
		path = strings.TrimPrefix(path, ".")
		if inside, ok := strings.CutPrefix(path, "["); ok {
			step, rest := bracketed(inside)
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

// bracketed parts what stands in brackets from what follows them. A key that could be taken for something else stands in quotes.
func bracketed(inside string) (step, rest string) {
	if quoted, err := strconv.QuotedPrefix(inside); err == nil {
		step, _ = strconv.Unquote(quoted) // it has just been recognised
		return step, strings.TrimPrefix(inside[len(quoted):], "]")
	}
	step, rest, _ = strings.Cut(inside, "]")
	return step, rest
}

// verdicts are those of several environments, each once.
type verdicts struct {
	of    int // environments
	order []problem.Problem
	where map[problem.Problem][]string
}

func (v *verdicts) add(environment string, p problem.Problem) {
	if v.where == nil {
		v.where = map[problem.Problem][]string{}
	}
	if len(v.where[p]) == 0 {
		v.order = append(v.order, p)
	}
	if !slices.Contains(v.where[p], environment) {
		v.where[p] = append(v.where[p], environment)
	}
}

// list says of a verdict in which environments it is one, unless it is one in all.
func (v *verdicts) list() problem.List {
	var all problem.List
	for _, p := range v.order {
		if in := v.where[p]; len(in) < v.of {
			p.Message += " (in environment " + strings.Join(in, ", ") + ")"
		}
		all = append(all, p)
	}
	return all
}
