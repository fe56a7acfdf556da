package load

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/trainyard/trainyard/api/message"
	"github.com/trainyard/trainyard/generator/internal/document"
	"github.com/trainyard/trainyard/generator/internal/values"
	"github.com/trainyard/trainyard/generator/internal/wording"
	"github.com/trainyard/trainyard/generator/problem"
)

// onlyInEnvironment is the rule of notes about entries that a single environment adds.
var onlyInEnvironment = problem.Rule{Name: "only-in-environment", Doc: "A runtime, tenant or queue exists in spec, or in more than one environment"}

// section is a mapping of spec whose keys are names that the author chooses.
type section struct {
	noun string
	path []string // below spec
}

var sections = []section{
	{"runtime", []string{"runtimes"}},
	{"tenant", []string{"tenants"}},
	{"priority class", []string{"priorityClasses"}},
	{"flavor", []string{"queues", "flavors"}},
	{"topology", []string{"queues", "topologies"}},
	{"ClusterQueue", []string{"queues", "clusterQueues"}},
}

// checkAdditions checks the entries that one environment adds to the sections of spec. An entry is a problem if it is
// probably a misspelled patch of an existing entry. Any other entry that only this environment has is a note.
// checkAdditions returns the patch without the entries that are problems, so that later stages report no consequences.
func (s *Source) checkAdditions(d *Document, patch *document.Node) *document.Node {
	spec := s.root.Get("spec")
	for _, section := range sections {
		known := entryNames(getPath(spec, section.path))
		for _, other := range spec.Get("environments").Fields {
			if other.Key != d.Environment {
				known = append(known, entryNames(getPath(other.Value, section.path))...)
			}
		}
		for _, f := range fieldsOf(getPath(patch, section.path)) {
			if slices.Contains(known, f.Key) || f.Value.Empty() {
				continue
			}
			path := append([]string{"spec"}, values.Extend(section.path, f.Key)...)
			if text := section.describeMistake(f, known); text != "" {
				d.Problems = append(d.Problems, problem.Problem{Position: f.Position, Rule: problem.UnknownName, Path: problem.Path(path), Message: text})
				patch = replaceAt(patch, values.Extend(section.path, f.Key), section.replacement(f.Value))
			} else if len(spec.Get("environments").Fields) > 1 {
				d.Notes = append(d.Notes, problem.Problem{Position: f.Position, Rule: onlyInEnvironment, Path: problem.Path(path),
					Message: fmt.Sprintf("this %s exists only in environment %s", section.noun, d.Environment)})
			}
		}
	}
	return patch
}

// describeMistake returns a message about an entry that is probably a patch of an existing entry, or "".
func (s section) describeMistake(f document.Field, known []string) string {
	if meant := misspelledName(f.Key, known); meant != "" {
		return fmt.Sprintf("unknown %[1]s %[2]s (if you want another %[1]s with this name, add it to spec.%[3]s): %[4]s",
			s.noun, message.Quote(f.Key), strings.Join(s.path, "."), wording.Suggestion([]string{meant}))
	}
	if s.noun == "runtime" && f.Value.Kind == document.Mapping && f.Value.Get("from") == nil && !f.Value.Incomplete {
		return wording.Choice("unknown runtime "+message.Quote(f.Key)+", and a new runtime needs the key from", f.Key, known)
	}
	return ""
}

// minWord is the smallest number of letters of a word that can be a misspelling of another word. Shorter words, such as a
// and b in the names team-a and team-b, often differ on purpose.
const minWord = 4

// misspelledName returns the name that differs from the given name by one typing error in one word, or "". Words are
// separated by "-". A word with digits is not compared, because numbers often differ on purpose.
func misspelledName(name string, known []string) string {
	words := strings.Split(name, "-")
	for _, candidate := range known {
		others := strings.Split(candidate, "-")
		if len(words) != len(others) {
			continue
		}
		var different, misspelled int
		for i, word := range words {
			if word == others[i] {
				continue
			}
			different++
			if min(len(word), len(others[i])) >= minWord && !strings.ContainsFunc(word+others[i], unicode.IsDigit) && message.Typos(word, others[i]) == 1 {
				misspelled++
			}
		}
		if different == 1 && misspelled == 1 {
			return candidate
		}
	}
	return ""
}

// replacement returns the value that replaces an entry with a problem, or nil to remove the entry. A runtime stays,
// because tenants can list it, but its missing keys are not reported.
func (s section) replacement(entry *document.Node) *document.Node {
	if s.noun != "runtime" || entry.Kind != document.Mapping {
		return nil
	}
	incomplete := *entry
	incomplete.Incomplete = true
	return &incomplete
}

// replaceAt replaces the value at a path in a copy of a mapping, or removes it if the new value is nil.
func replaceAt(n *document.Node, path []string, value *document.Node) *document.Node {
	switch {
	case len(path) > 1:
		value = replaceAt(n.Get(path[0]), path[1:], value)
	case value == nil:
		return n.Without(path[0])
	}
	return n.With(path[0], value)
}

func getPath(n *document.Node, path []string) *document.Node {
	for _, key := range path {
		n = n.Get(key)
	}
	return n
}

func fieldsOf(n *document.Node) []document.Field {
	if n == nil {
		return nil
	}
	return n.Fields
}

func entryNames(n *document.Node) []string {
	var names []string
	for _, f := range fieldsOf(n) {
		names = append(names, f.Key)
	}
	return names
}
