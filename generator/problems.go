package generator

import (
	"errors"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/generator/load"
	"github.com/trainyard/trainyard/generator/problem"
)

// mergeProblems merges the problems of all environments. If a problem occurs only in some environments, mergeProblems
// adds the names of these environments to the message of the problem. If some errors have another type than
// problem.List, mergeProblems returns only the first of these errors.
func mergeProblems(documents []*load.Document, errs []error) error {
	var order []problem.Problem
	where := map[problem.Problem][]string{}
	for i, err := range errs {
		var problems problem.List
		if err != nil && !errors.As(err, &problems) {
			return err
		}
		for _, p := range problems {
			if where[p] == nil {
				order = append(order, p)
			}
			if environment := documents[i].Environment; !slices.Contains(where[p], environment) {
				where[p] = append(where[p], environment)
			}
		}
	}
	var all problem.List
	seen := map[problem.Problem]bool{}
	for _, p := range order {
		// A YAML alias copies a value, and the values inside the copy keep their original positions. So one mistake in
		// such a value can cause several problems with the same position and message. Only the first of these problems
		// is reported.
		cause := problem.Problem{Position: p.Position, Message: p.Message}
		if seen[cause] {
			continue
		}
		seen[cause] = true
		if in := where[p]; len(in) < len(documents) {
			p.Message += " (found in environment " + strings.Join(in, ", ") + ")"
		}
		all = append(all, p)
	}
	return all.Err()
}
