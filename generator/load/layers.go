package load

import (
	"fmt"
	"slices"

	"github.com/trainyard/trainyard/api/message"
	"github.com/trainyard/trainyard/generator/internal/document"
	"github.com/trainyard/trainyard/generator/internal/values"
	"github.com/trainyard/trainyard/generator/problem"
)

// layerSections lists sections in which checkLayers looks for mistakes of later layers. checkLayers also looks in the
// sections that the function localQueues returns. For example, if a later layer misspells the name of an existing
// entry, the layer adds a new entry by mistake.
var layerSections = append(slices.Clone(sections), section{"environment", []string{"environments"}})

// addition is an entry that a later layer adds to a section of spec.
type addition struct {
	section section
	entry   document.Field
	earlier []string // the names of the section's entries in the earlier layers
}

// recordAdditions records the entries that a layer adds to the earlier layers. checkLayers checks these entries only
// after all layers are merged, because later layers can still make an entry correct. For example, a later layer can add
// a key that the entry lacks. A second example is an added entry whose name looks like a misspelling of an existing
// name. If a later layer removes the entry with the existing name, the name of the added entry no longer looks
// misspelled.
func (s *Source) recordAdditions(layer *document.Node) {
	spec := s.root.Get("spec")
	for _, section := range slices.Concat(layerSections, localQueues(spec, layer.Get("spec"))) {
		earlier, changes := getPath(spec, section.path), getPath(layer.Get("spec"), section.path)
		names := entryNames(earlier)
		if tooMany(names, changes) {
			continue
		}
		for _, f := range fieldsOf(changes) {
			if earlier.Field(f.Key) == nil && !f.Value.Empty() {
				s.additions = append(s.additions, addition{section, f, names})
			}
		}
	}
}

// checkLayers checks the entries that later layers add to the sections of spec. If the author of an added entry
// probably wanted to change an existing entry, but wrote a wrong name, checkLayers reports a problem. The method
// "describe" recognizes this mistake. In this case, checkLayers also removes the added entry, so that later stages do
// not report the same mistake again. There are two exceptions. If the entry is a runtime and its value is a mapping,
// checkLayers marks the runtime as incomplete, and does not remove the entry. If the entry is an environment, the entry
// stays unchanged.
func (s *Source) checkLayers() {
	spec := s.root.Get("spec")
	for _, a := range s.additions {
		entries := getPath(spec, a.section.path)
		f := entries.Field(a.entry.Key)
		if f == nil {
			continue
		}
		text := a.describe(*f, entries, spec.Get("environments"))
		if text == "" {
			continue
		}
		path := append([]string{"spec"}, values.Extend(a.section.path, f.Key)...)
		s.problems = append(s.problems, problem.Problem{Position: a.entry.Position, Rule: problem.UnknownName, Path: problem.Path(path), Message: text})
		s.root = replaceAt(s.root, path, a.section.replacement(f.Value))
	}
}

// describe returns a message if an added entry is probably meant to change an entry of the earlier layers, and
// otherwise "". If a layer has removed an entry of an earlier layer, the method "describe" ignores the removed entry.
// The reason is that the added entry probably replaces the removed entry.
func (a addition) describe(f document.Field, entries, environments *document.Node) string {
	kept := slices.DeleteFunc(slices.Clone(a.earlier), func(name string) bool { return entries.Field(name) == nil })
	known := slices.Concat(kept, a.section.addedElsewhere(environments, ""))
	if len(kept) == 0 || entries.Incomplete { // the document has no entry that the author could mean, or its name is unreadable
		known = append(known, f.Key)
	}
	place := fmt.Sprintf("the layer that defines %s", message.Quote(misspelledName(f.Key, kept)))
	return a.section.describeMistake(f, kept, known, place)
}
