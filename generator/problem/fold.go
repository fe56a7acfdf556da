package problem

import (
	"fmt"
	"slices"
	"strings"
)

// maxNamed is the maximum number of tenants or runtimes that Fold names in a message. Fold counts the problems that
// have the same rule and message. If the count is not greater than maxNamed, Fold does not change these problems.
const maxNamed = 3

// Fold shortens a list of problems. If more than maxNamed problems have the same rule and message, only the
// first of these problems remains. Fold adds two facts to the message of the first problem: the number of
// positions, and the names of the tenants or runtimes.
func (l List) Fold() List {
	type key struct {
		rule    Rule
		message string
	}
	same := map[key]List{}
	for _, p := range l {
		k := key{p.Rule, p.Message}
		same[k] = append(same[k], p)
	}
	var folded List
	done := map[key]bool{}
	for _, p := range l {
		k := key{p.Rule, p.Message}
		switch n := len(same[k]); {
		case n <= maxNamed:
			folded = append(folded, p)
		case !done[k]:
			p.Message += fmt.Sprintf(" (found at %d places%s)", n, nameOwners(same[k]))
			folded = append(folded, p)
		}
		done[k] = true
	}
	return folded
}

// nameOwners returns a text that names the tenants or the runtimes to which the problems belong. The result is "" if
// some of the problems belong to tenants and others belong to runtimes. The result is also "" if a problem belongs
// neither to a tenant nor to a runtime.
func nameOwners(problems List) string {
	kind, names := "", []string{}
	for _, p := range problems {
		keys := strings.SplitN(p.Path, ".", 4)
		if len(keys) < 3 || kind != "" && keys[1] != kind || keys[1] != "tenants" && keys[1] != "runtimes" {
			return ""
		}
		kind = keys[1]
		if !slices.Contains(names, keys[2]) {
			names = append(names, keys[2])
		}
	}
	named := strings.Join(names[:min(len(names), maxNamed)], ", ")
	if more := len(names) - maxNamed; more > 0 {
		named += fmt.Sprintf(" and %d more", more)
	}
	if len(names) == 1 {
		kind = strings.TrimSuffix(kind, "s")
	}
	return ", of " + kind + " " + named
}
