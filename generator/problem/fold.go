package problem

import (
	"fmt"
	"slices"
	"strings"
)

// maxNamed is how many parts of a document a folded problem names, and how many problems that say
// the same are told one by one.
const maxNamed = 3

// Fold makes one of many problems that say the same, at the place of the first: it adds how many
// they are, and of which tenants or runtimes. A few stay as they are.
func (l List) Fold() List {
	type cause struct {
		rule    Rule
		message string
	}
	same := map[cause]List{}
	for _, p := range l {
		c := cause{p.Rule, p.Message}
		same[c] = append(same[c], p)
	}
	var all List
	told := map[cause]bool{}
	for _, p := range l {
		c := cause{p.Rule, p.Message}
		if n := len(same[c]); n > maxNamed {
			p.Message += fmt.Sprintf(" (at %d places%s)", n, owners(same[c]))
		}
		if p.Message == c.message || !told[c] {
			all = append(all, p)
		}
		told[c] = true
	}
	return all
}

// owners names the parts of the document that problems are in, where all are in parts of one kind.
func owners(problems List) string {
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
