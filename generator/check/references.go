package check

import (
	"strconv"
	"strings"

	"github.com/trainyard/trainyard/generator/internal/values"
	"github.com/trainyard/trainyard/generator/internal/wording"

	"cuelang.org/go/cue"

	"github.com/trainyard/trainyard/api/message"
	"github.com/trainyard/trainyard/generator/internal/document"
	"github.com/trainyard/trainyard/generator/problem"
)

// checkReferences checks a list against the attributes of its schema:
//   - @nonempty() requires at least one item. The method checkNotEmpty enforces @nonempty() on mappings.
//   - @unique() requires that no item is repeated.
//   - @keyof(path,noun) requires that each item is a key of the mapping at this path of the document. In messages,
//     the argument "noun" is the word for an item.
func (c *checker) checkReferences(schema cue.Value, list *document.Node, valid []any, path []string) {
	if mark := schema.Attribute("nonempty"); mark.Err() == nil && len(list.Items) == 0 {
		c.add(list.Position, path, "want at least one item")
	}
	if mark := schema.Attribute("unique"); mark.Err() == nil {
		c.checkUnique(list, path)
	}
	if mark := schema.Attribute("keyof"); mark.Err() == nil {
		target, _ := mark.String(0) // the attribute @keyof always has two arguments
		noun, _ := mark.String(1)
		c.keysOf(target, noun, list, valid, path)
	}
}

// checkUnique refuses a scalar that a list contains twice, because the API server refuses repeated
// names in many lists.
func (c *checker) checkUnique(list *document.Node, path []string) {
	seen := map[any]bool{}
	for i, item := range list.Items {
		if item.Kind == document.Scalar && seen[item.Scalar] {
			c.add(item.Position, values.Extend(path, strconv.Itoa(i)), "want each item once, got %s again", wording.Describe(item, cue.StringKind))
		}
		if item.Kind == document.Scalar {
			seen[item.Scalar] = true
		}
	}
}

func (c *checker) keysOf(target, noun string, list *document.Node, valid []any, path []string) {
	c.lookups++
	mapping, whole := c.mappingAt(target)
	if !whole {
		return
	}
	var keys []string
	if mapping != nil {
		for _, f := range mapping.Fields {
			keys = append(keys, f.Key)
		}
	}
	for i, item := range list.Items {
		name, ok := valid[i].(string)
		if !ok || mapping.Get(name) != nil {
			continue
		}
		if null, removed := c.removalOf(target, name); removed {
			rule := problem.UnknownName
			if mapping == nil {
				rule = problem.MissingKey
			}
			c.breaks(rule, null, strings.Split(target, "."), "%s", wording.RemovedSection(noun))
			continue
		}
		at := values.Extend(path, strconv.Itoa(i))
		if null, removed := mapping.Removed(name); removed {
			// Each null causes at most one report. If nulls in later layers have removed all entries of the mapping,
			// the method checkNotEmpty reports a problem at one of these nulls. Several list items can refer to the
			// same removed entry. In this case, only the first of these items causes a report.
			if len(mapping.Fields) > 0 && !c.hasProblemAt(null) {
				c.breaks(problem.UnknownName, null, values.Extend(strings.Split(target, "."), name), "%s", wording.RemovedEntry(noun, name, problem.Path(at), item.Position))
			}
			continue
		}
		c.breaks(problem.UnknownName, item.Position, at, "%s", wording.Choice("unknown "+noun+" "+message.Quote(name), name, keys))
	}
}

// removalOf searches for a null that removes a whole mapping from the document, and returns the position of this null.
// The argument "path" is the path of the mapping, such as spec.runtimes. The items of some lists must be keys of this
// mapping. For example, each item of a tenant's list "runtimes" must be a key of spec.runtimes. If a list item is not a
// key of the mapping, the checker calls removalOf. The argument "name" is this list item. If no null removes the
// mapping, the second result is false. After the null, a later layer can add the mapping again. If the new mapping has
// a key that is similar to the list item, the second result is false too. In this case, the author of the list item
// probably meant the similar key, but misspelled it. The cause of the problem is then the misspelling, and not the
// null.
func (c *checker) removalOf(path, name string) (problem.Position, bool) {
	parent, keys := c.document, strings.Split(path, ".")
	for _, key := range keys[:len(keys)-1] {
		parent = parent.Get(key)
	}
	last := keys[len(keys)-1]
	if entries := parent.Get(last); entries != nil {
		for _, f := range entries.Fields {
			if !f.Value.Incomplete && len(message.Similar(name, []string{f.Key})) > 0 { // incomplete entries are patches of removed entries
				return problem.Position{}, false
			}
		}
	}
	return parent.Removed(last)
}

// mappingAt returns the mapping at a path of the document, or nil if the document has no value there. The result
// "whole" is false if the keys of the mapping are not certain: the value is not a mapping, some keys could not
// be read, or a key on the path was mistyped.
func (c *checker) mappingAt(path string) (n *document.Node, whole bool) {
	n = c.document
	keys := strings.Split(path, ".")
	for i, key := range keys {
		if c.respelled[problem.Path(keys[:i+1])] {
			return nil, false
		}
		n = n.Get(key)
	}
	return n, n == nil || n.Kind == document.Mapping && !n.Unreadable && !n.Incomplete
}
