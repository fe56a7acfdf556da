package load

import (
	"fmt"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/api/message"
	"github.com/trainyard/trainyard/generator/internal/document"
	"github.com/trainyard/trainyard/generator/internal/values"
	"github.com/trainyard/trainyard/generator/internal/wording"
	"github.com/trainyard/trainyard/generator/problem"
)

// onlyInEnvironment is the rule for notes about entries that only one environment adds.
var onlyInEnvironment = problem.Rule{Name: "only-in-environment", Doc: "No entry, such as a runtime, a tenant or a queue, is defined only in one environment"}

// section describes a mapping inside spec, such as spec.queues.flavors. The author of the document
// chooses the keys of the mapping.
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

// localQueues returns one section for each tenant whose LocalQueues the patch changes. The callers compare the names of
// these LocalQueues with the names in the argument "spec", to find misspelled names. If a tenant has no LocalQueues in
// the argument "spec", there are no names to compare. localQueues then omits the tenant.
func localQueues(spec, patch *document.Node) []section {
	tenants, changes := spec.Get("tenants"), patch.Get("tenants")
	if tooMany(entryNames(tenants), changes) {
		return nil
	}
	var found []section
	for _, tenant := range fieldsOf(changes) {
		if len(fieldsOf(tenants.Get(tenant.Key).Get("queues"))) > 0 && len(fieldsOf(tenant.Value.Get("queues"))) > 0 {
			found = append(found, section{"LocalQueue", []string{"tenants", tenant.Key, "queues"}})
		}
	}
	return found
}

// checkAdditions checks the entries that one environment adds to the sections of spec. checkAdditions reports a problem
// for an entry that the environment probably adds by mistake, such as an entry with a misspelled name. If an entry has
// no problem, but exists only in one of several environments, checkAdditions adds a note. In the returned patch, each
// entry with a problem is either missing or marked as incomplete. As a result, later stages do not report the same
// mistake again.
func (s *Source) checkAdditions(d *Document, patch *document.Node) *document.Node {
	spec := s.root.Get("spec")
	for _, section := range slices.Concat(sections, localQueues(spec, patch)) {
		base, changes := entryNames(getPath(spec, section.path)), getPath(patch, section.path)
		if tooMany(base, changes) {
			continue
		}
		others := section.addedElsewhere(spec.Get("environments"), d.Environment)
		for _, f := range fieldsOf(changes) {
			if slices.Contains(base, f.Key) || f.Value.Empty() {
				continue
			}
			path := append([]string{"spec"}, values.Extend(section.path, f.Key)...)
			if mistake := section.findMistake(spec, f, changes, others); mistake.Message != "" {
				d.Problems = append(d.Problems, mistake)
				patch = replaceAt(patch, values.Extend(section.path, f.Key), section.replacement(f.Value))
			} else if !slices.Contains(others, f.Key) && len(spec.Get("environments").Fields) > 1 {
				d.Notes = append(d.Notes, problem.Problem{Position: f.Position, Rule: onlyInEnvironment, Path: problem.Path(path),
					Message: fmt.Sprintf("this %s exists only in environment %s", section.noun, d.Environment)})
			}
		}
	}
	return patch
}

// findMistake returns a problem if an environment probably adds an entry by mistake. If findMistake finds no mistake, the
// returned problem has no message. The argument "others" lists the names of the entries that other environments add.
func (s section) findMistake(spec *document.Node, f document.Field, changes *document.Node, others []string) problem.Problem {
	path, base := append([]string{"spec"}, s.path...), entryNames(getPath(spec, s.path))
	null, removed := getPath(spec, s.path[:len(s.path)-1]).Removed(s.path[len(s.path)-1])
	if removed && len(base) == 0 && s.isPatch(f.Value) && !slices.Contains(others, f.Key) {
		return problem.Problem{Position: null, Rule: problem.MissingKey, Path: problem.Path(path), Message: wording.RemovedSection(s.noun)}
	}
	place := fmt.Sprintf("%s, outside of \"environments\"; environments that must not have it can remove it with null", strings.Join(path, "."))
	text := s.describeMistake(f, s.keptNames(base, changes), slices.Concat(base, others), place)
	return problem.Problem{Position: f.Position, Rule: problem.UnknownName, Path: problem.Path(values.Extend(path, f.Key)), Message: text}
}

// addedElsewhere searches one section in all environments, and returns the names of the entries that it finds.
// addedElsewhere ignores the environment that the argument "environment" names. addedElsewhere also ignores nulls, and
// runtimes without the key "from", because such values can only remove or change existing entries.
func (s section) addedElsewhere(environments *document.Node, environment string) []string {
	var names []string
	for _, other := range fieldsOf(environments) {
		for _, f := range fieldsOf(getPath(other.Value, s.path)) {
			if other.Key != environment && !s.isPatch(f.Value) {
				names = append(names, f.Key)
			}
		}
	}
	return names
}

// isPatch reports whether a value can only change or remove an existing entry. Such a value is null, or a runtime
// without the key "from". A runtime whose key "from" is misspelled counts as a new entry.
func (s section) isPatch(value *document.Node) bool {
	if value.Empty() || s.noun != "runtime" || value.Kind != document.Mapping {
		return value.Empty()
	}
	others := value.Without("from")
	return value.Get("from").Empty() && !value.Incomplete && message.Nearest("from", entryNames(others)) == ""
}

// keptNames returns the names in "base" that a patch does not remove. A patch can remove an entry and add an entry with
// a similar name. In this case, the new entry replaces the removed entry. Therefore the name of the new entry does not
// count as a misspelling of the removed name.
func (section) keptNames(base []string, changes *document.Node) []string {
	return slices.DeleteFunc(slices.Clone(base), func(name string) bool {
		return changes.Field(name) != nil && changes.Get(name).Empty()
	})
}

// describeMistake returns a message if the author of an entry probably wanted to change an existing entry, but wrote a
// wrong name. Otherwise describeMistake returns an empty string. describeMistake returns a message in two cases. In the
// first case, the name of the entry is a misspelling of a name in the list "similar". In the second case, the entry is
// a runtime that has no key "from" and is not in the list "known". In the first case, the author may really want to add
// a new entry with this name. Therefore the message also says where the author must define such an entry. The argument
// "place" is the description of this location.
func (s section) describeMistake(f document.Field, similar, known []string, place string) string {
	if meant := misspelledName(f.Key, similar); meant != "" {
		return fmt.Sprintf("unknown %[1]s %[2]s: %[4]s If %[2]s is a new %[1]s, define it in %[3]s",
			s.noun, message.Quote(f.Key), place, wording.Suggestion([]string{meant}))
	}
	if s.isPatch(f.Value) && !slices.Contains(known, f.Key) {
		choice := wording.Choice("unknown runtime "+message.Quote(f.Key), f.Key, known)
		if !strings.HasSuffix(choice, "?") {
			choice += "."
		}
		return choice + ` A new runtime must set the key "from"`
	}
	return ""
}

// maxEntries is the maximum number of entries in a mapping that is searched for misspelled names. The search in a
// larger mapping could take minutes, and the check stage refuses larger mappings anyway.
const maxEntries = 256

func tooMany(base []string, changes *document.Node) bool {
	return max(len(base), len(fieldsOf(changes))) > maxEntries
}

// replacement is a method that returns the new value of an entry that has a problem. If the method returns nil, the
// caller removes the entry. For an environment, the method returns the unchanged value, so that trainyard also reports
// other problems in this environment. For a runtime that is a mapping, the method returns a copy that is marked as
// incomplete. As a result, trainyard does not report missing keys of the runtime, and accepts tenants that list the
// runtime. For all other entries, the method returns nil. For example, it returns nil for a tenant, and for a runtime
// that is only a string.
func (s section) replacement(entry *document.Node) *document.Node {
	if s.noun == "environment" {
		return entry
	}
	if s.noun != "runtime" || entry.Kind != document.Mapping {
		return nil
	}
	incomplete := *entry
	incomplete.Incomplete = true
	return &incomplete
}

// replaceAt copies a mapping, replaces the value at the given path in the copy, and returns the copy. If the new value
// is nil, replaceAt removes the last key of the path from the copy.
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
