package check

import (
	"regexp"
	"strconv"

	"github.com/trainyard/trainyard/generator/evaluate"
	"github.com/trainyard/trainyard/generator/internal/values"
	"github.com/trainyard/trainyard/generator/problem"

	"cuelang.org/go/cue"

	"github.com/trainyard/trainyard/generator/internal/document"
)

// namedChecks maps each NAME in an attribute @check(NAME) to a function. The function checks conditions that
// involve several fields of one mapping. Without these checks, users would notice most mistakes late: Kubernetes
// would accept a generated runtime, but would refuse the pods of its TrainJobs.
var namedChecks = map[string]func(*checker, *document.Node, []string){
	"requirement":      (*checker).checkRequirement,
	"fieldRequirement": (*checker).fieldRequirement,
	"nodeTerm":         (*checker).nodeTerm,
	"podTerm":          (*checker).podTerm,
	"annotations":      (*checker).annotations,
	"destination":      (*checker).checkDestination,
	"location":         (*checker).checkLocation,
	"mpi":              (*checker).checkPortRange,
	"priorityClass":    (*checker).priorityClass,
}

func (c *checker) relate(schema cue.Value, n *document.Node, path []string) {
	if mark, ok := evaluate.Mark(schema, "check"); ok {
		name, _ := mark.String(0)
		namedChecks[name](c, n, path)
	}
}

// checkRequirement checks that the values of a selector requirement fit its operator: In and NotIn need values, Gt and
// Lt need one integer, and Exists and DoesNotExist must have no values. Source: ValidateNodeSelectorRequirement,
// ValidateLabelSelectorRequirement of Kubernetes.
func (c *checker) checkRequirement(n *document.Node, path []string) {
	operator := textOf(n.Get("operator"))
	given := itemsOf(n.Get("values"))
	at, below := n.Locate("values"), values.Extend(path, "values")
	switch operator {
	case "In", "NotIn":
		if len(given) == 0 {
			c.add(at, below, "want at least one value with operator %s", operator)
		}
	case "Exists", "DoesNotExist":
		if len(given) > 0 {
			c.add(at, below, "not allowed with operator %s", operator)
		}
	case "Gt", "Lt":
		switch text := textOf(first(given)); {
		case len(given) != 1 || !Digits.MatchString(text):
			c.add(at, below, "want one integer in quotes, because the operator is %s", operator)
		case !isInteger(text):
			c.breaks(problem.Invalid, at, below, "want one 64-bit integer in quotes, because the operator is %s", operator)
		}
	}
}

func (c *checker) fieldRequirement(n *document.Node, path []string) {
	if given := itemsOf(n.Get("values")); len(given) != 1 {
		c.add(n.Locate("values"), values.Extend(path, "values"), "want the name of one Kubernetes node, got %d names", len(given))
	}
}

// nodeTerm refuses an empty node selector term. An author may expect that an empty term matches all Kubernetes nodes, but an
// empty term matches none.
func (c *checker) nodeTerm(n *document.Node, path []string) {
	if len(itemsOf(n.Get("matchExpressions"))) == 0 && len(itemsOf(n.Get("matchFields"))) == 0 {
		c.add(n.Position, path, "want matchExpressions or matchFields: an empty term matches no Kubernetes node")
	}
}

// podTerm checks that matchLabelKeys and mismatchLabelKeys are set only together with labelSelector, and that no key
// is in two of these three fields. The API server would accept a runtime that breaks these conditions, but would
// refuse the pods of its TrainJobs. Source: validateMatchLabelKeysAndMismatchLabelKeys of Kubernetes.
func (c *checker) podTerm(n *document.Node, path []string) {
	match := map[string]bool{}
	for _, key := range itemsOf(n.Get("matchLabelKeys")) {
		text := textOf(key)
		match[text] = true
	}
	for i, key := range itemsOf(n.Get("mismatchLabelKeys")) {
		if text := textOf(key); match[text] {
			c.breaks(problem.Invalid, key.Position, values.Extend(values.Extend(path, "mismatchLabelKeys"), strconv.Itoa(i)), "not allowed: this key is also in matchLabelKeys; remove it from one of the lists")
		}
	}
	selected := selectorKeys(n.Get("labelSelector"))
	for _, list := range []string{"matchLabelKeys", "mismatchLabelKeys"} {
		for i, key := range itemsOf(n.Get(list)) {
			if selected[textOf(key)] {
				c.breaks(problem.Invalid, key.Position, values.Extend(values.Extend(path, list), strconv.Itoa(i)), "not allowed: labelSelector also has this key, so Kubernetes would refuse the pods; remove the key from labelSelector or from %s", list)
			}
		}
		if n.Get(list) != nil && n.Get("labelSelector") == nil {
			c.add(n.Locate(list), values.Extend(path, list), "not allowed without labelSelector, because these keys extend it: add labelSelector, or remove this field")
		}
	}
}

// selectorKeys returns the keys of the labels in a label selector.
func selectorKeys(selector *document.Node) map[string]bool {
	keys := map[string]bool{}
	if labels := selector.Get("matchLabels"); labels != nil {
		for _, f := range labels.Fields {
			keys[f.Key] = true
		}
	}
	for _, requirement := range itemsOf(selector.Get("matchExpressions")) {
		keys[textOf(requirement.Get("key"))] = true
	}
	return keys
}

// maxAnnotations is the maximum total size of a mapping of annotations in the document, in bytes. It is
// below the limit of Kubernetes (TotalAnnotationSizeLimitB, 256 KiB), to leave room for annotations that
// the cluster adds.
const maxAnnotations = 200 << 10

func (c *checker) annotations(n *document.Node, path []string) {
	size := 0
	for _, f := range n.Fields {
		size += len(f.Key) + len(textOf(f.Value))
	}
	if size > maxAnnotations {
		c.breaks(problem.Invalid, n.Position, path, "want at most %d KiB in total, got %d KiB", maxAnnotations>>10, size>>10)
	}
}

func (c *checker) priorityClass(n *document.Node, path []string) {
	if external := n.Get("external"); n.Get("value") == nil && (external == nil || external.Scalar != true) && !n.Incomplete {
		c.breaks(problem.MissingKey, n.Position, path, "missing key %q: set the priority of the class, or set external to true if the cluster already has the class", "value")
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

func textOf(n *document.Node) string {
	if n == nil {
		return ""
	}
	text, _ := n.Scalar.(string)
	return text
}

// Digits matches an integer of any length.
var Digits = regexp.MustCompile(`^[-+]?[0-9]+$`)

func isInteger(text string) bool {
	_, err := strconv.ParseInt(text, 10, 64)
	return err == nil
}
