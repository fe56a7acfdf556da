package generator

import (
	"regexp"
	"strconv"

	"cuelang.org/go/cue"

	"github.com/trainyard/trainyard/generator/internal/document"
)

// relations are what takes several fields of one mapping to judge. The schema
// names one with @check(NAME). Kubernetes lets most of these mistakes pass in a
// runtime, and refuses the pods.
var relations = map[string]func(*checker, *document.Node, []string){
	"requirement":      (*checker).requirement,
	"fieldRequirement": (*checker).fieldRequirement,
	"nodeTerm":         (*checker).nodeTerm,
	"podTerm":          (*checker).podTerm,
	"annotations":      (*checker).annotations,
	"destination":      (*checker).destination,
	"place":            (*checker).place,
	"mpi":              (*checker).mpi,
	"priorityClass":    (*checker).priorityClass,
}

// relate runs the check that a mapping's schema names, if it names one.
func (c *checker) relate(schema cue.Value, n *document.Node, path []string) {
	if mark, ok := markOf(schema, "check"); ok {
		name, _ := mark.String(0)
		relations[name](c, n, path)
	}
}

// markOf finds an attribute of a field, or of the definition that it refers to.
func markOf(v cue.Value, name string) (cue.Attribute, bool) {
	places := []cue.Value{v}
	if root, path := v.ReferencePath(); root.Exists() {
		places = append(places, root.LookupPath(path))
	}
	for _, place := range places {
		for _, mark := range place.Attributes(cue.ValueAttr) {
			if mark.Name() == name {
				return mark, true
			}
		}
	}
	return cue.Attribute{}, false
}

// requirement: In and NotIn compare with values, Gt and Lt with one number, and
// the others with nothing.
// Source: ValidateNodeSelectorRequirement, ValidateLabelSelectorRequirement of Kubernetes.
func (c *checker) requirement(n *document.Node, path []string) {
	operator := textOf(n.Get("operator"))
	values := itemsOf(n.Get("values"))
	at, below := n.Locate("values"), extend(path, "values")
	switch operator {
	case "In", "NotIn":
		if len(values) == 0 {
			c.add(at, below, "want at least one value with operator %s", operator)
		}
	case "Exists", "DoesNotExist":
		if len(values) > 0 {
			c.add(at, below, "not allowed with operator %s", operator)
		}
	case "Gt", "Lt":
		switch text := textOf(first(values)); {
		case len(values) != 1 || !digits.MatchString(text):
			c.add(at, below, "want one integer in quotes with operator %s", operator)
		case !isInteger(text):
			c.breaks(unsound, at, below, "want one integer in quotes with operator %s, of at most 64 bits", operator)
		}
	}
}

// fieldRequirement: the name of a node is one name.
func (c *checker) fieldRequirement(n *document.Node, path []string) {
	if values := itemsOf(n.Get("values")); len(values) != 1 {
		c.add(n.Locate("values"), extend(path, "values"), "want one name of a Kubernetes node, got %d", len(values))
	}
}

// nodeTerm: a term without requirements matches no node, and not every node.
func (c *checker) nodeTerm(n *document.Node, path []string) {
	if len(itemsOf(n.Get("matchExpressions"))) == 0 && len(itemsOf(n.Get("matchFields"))) == 0 {
		c.add(n.Position, path, "want matchExpressions or matchFields: a term without either matches no Kubernetes node")
	}
}

// podTerm: label keys add to a selector, each to one side.
// Source: validateMatchLabelKeysAndMismatchLabelKeys of Kubernetes.
func (c *checker) podTerm(n *document.Node, path []string) {
	match := map[string]bool{}
	for _, key := range itemsOf(n.Get("matchLabelKeys")) {
		text := textOf(key)
		match[text] = true
	}
	for i, key := range itemsOf(n.Get("mismatchLabelKeys")) {
		if text := textOf(key); match[text] {
			c.breaks(unsound, key.Position, extend(extend(path, "mismatchLabelKeys"), strconv.Itoa(i)), "not allowed: it is in matchLabelKeys, too")
		}
	}
	for _, list := range []string{"matchLabelKeys", "mismatchLabelKeys"} {
		if n.Get(list) != nil && n.Get("labelSelector") == nil {
			c.add(n.Locate(list), extend(path, list), "not allowed without labelSelector, to which it adds")
		}
	}
}

// maxAnnotations is what all annotations of an object may take together, less
// what the cluster adds. Source: TotalAnnotationSizeLimitB of Kubernetes (256 KiB).
const maxAnnotations = 200 << 10

func (c *checker) annotations(n *document.Node, path []string) {
	size := 0
	for _, f := range n.Fields {
		size += len(f.Key) + len(textOf(f.Value))
	}
	if size > maxAnnotations {
		c.breaks(unsound, n.Position, path, "want at most %d KiB in all, got %d", maxAnnotations>>10, size>>10)
	}
}

// priorityClass: one that is made has a value.
func (c *checker) priorityClass(n *document.Node, path []string) {
	if external := n.Get("external"); n.Get("value") == nil && (external == nil || external.Scalar != true) && !n.Partly {
		c.breaks(missingKey, n.Position, path, "missing key %q: how urgent it is; or external: true, where it is in the cluster already", "value")
	}
}

func itemsOf(n *document.Node) []*document.Node {
	if n == nil {
		return nil
	}
	return n.Items
}

func first(items []*document.Node) *document.Node {
	if len(items) == 0 {
		return nil
	}
	return items[0]
}

// textOf is the text of a value, or "".
func textOf(n *document.Node) string {
	if n == nil {
		return ""
	}
	text, _ := n.Scalar.(string)
	return text
}

// digits is an integer of any length.
var digits = regexp.MustCompile(`^[-+]?[0-9]+$`)

func isInteger(text string) bool {
	_, err := strconv.ParseInt(text, 10, 64)
	return err == nil
}
