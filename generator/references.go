package generator

import (
	"strconv"
	"strings"

	"cuelang.org/go/cue"

	"github.com/trainyard/trainyard/generator/internal/document"
	"github.com/trainyard/trainyard/generator/problem"
)

// references checks what the schema says of a list beyond its items: with
// @nonempty() there is one at least (of mappings, see filled), with @unique() none may come twice, and with @keyof(path,noun) each must be a key of
// the mapping at a path of the document.
func (c *checker) references(schema cue.Value, list *document.Node, sound []any, path []string) {
	if mark := schema.Attribute("nonempty"); mark.Err() == nil && len(list.Items) == 0 {
		c.add(list.Position, path, "want at least one item")
	}
	if mark := schema.Attribute("unique"); mark.Err() == nil {
		c.unique(list, path)
	}
	if mark := schema.Attribute("keyof"); mark.Err() == nil {
		target, _ := mark.String(0) // both are always given
		noun, _ := mark.String(1)
		c.keysOf(target, noun, list, sound, path)
	}
}

// unique refuses an item that comes again. The API server takes many a list of
// names as a map, and refuses a name that comes twice.
func (c *checker) unique(list *document.Node, path []string) {
	seen := map[any]bool{}
	for i, item := range list.Items {
		if item.Kind == document.Scalar && seen[item.Scalar] {
			c.add(item.Position, extend(path, strconv.Itoa(i)), "want each once, got %s again", describe(item, cue.StringKind))
		}
		if item.Kind == document.Scalar {
			seen[item.Scalar] = true
		}
	}
}

func (c *checker) keysOf(target, noun string, list *document.Node, sound []any, path []string) {
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
		name, ok := sound[i].(string)
		if ok && mapping.Get(name) == nil {
			c.breaks(unknownName, item.Position, extend(path, strconv.Itoa(i)), "%s", choice("unknown "+noun+" "+problem.Quote(name), name, keys))
		}
	}
}

// mappingAt is what stands at a path of the document; whole is false if it has names, perhaps, that
// could not be read.
func (c *checker) mappingAt(path string) (n *document.Node, whole bool) {
	n = c.document
	keys := strings.Split(path, ".")
	for i, key := range keys {
		if c.respelled[problem.Path(keys[:i+1])] {
			return nil, false
		}
		n = n.Get(key)
	}
	return n, n == nil || n.Kind == document.Mapping && !n.Bad && !n.Partly
}
