package check

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/trainyard/trainyard/generator/evaluate"
	"github.com/trainyard/trainyard/generator/internal/constraint"
	"github.com/trainyard/trainyard/generator/internal/document"
	"github.com/trainyard/trainyard/generator/internal/values"
	"github.com/trainyard/trainyard/generator/internal/wording"
	"github.com/trainyard/trainyard/generator/problem"
)

// checker compares a document with its schema. CUE decides only whether a scalar is valid. Go code compares everything
// else, such as the keys of mappings, because CUE's own error reports are unclear. CUE reports an unknown key only if
// it finds no other mistake. For a single mistake in a disjunction, CUE returns many errors.
type checker struct {
	*Check
	schemas     *schemas
	evaluator   *evaluate.Evaluator
	definitions cue.Value      // the package that defines the document's schema
	document    *document.Node // the whole document, to look up the keys to which values refer
	problems    problem.List
	lookups     int             // how often a value was compared with another part of the document
	respelled   map[string]bool // paths of misspelled keys, in the corrected spelling
	refused     [][]string      // paths of values that are left out because a problem was reported for them
	reported    [][]string      // paths of all problems that the checker has found
}

// The sizes of mappings and lists are limited, because the evaluation time grows with these sizes.
const (
	MaxKeys  = 256 // keys of a mapping
	MaxItems = 64  // items of a list
)

// checkValue checks a node of the document, and returns its value as plain data. If the schema refuses a part of the
// value, the returned data does not contain this part. The result "ok" is false if the value itself is refused. For a
// mapping, "ok" is also false if a required key is missing or has a refused value. For a list, checkValue also checks
// each item. If the result "ok" of one item is false, the result "ok" of the list is false too. The argument "key" is
// the position of the node's key. If the node is an item of a list, or the whole document, it has no key. In this case,
// "key" is the position of the node itself. If a problem is a missing key or an empty mapping, checkValue usually
// reports the problem at the position "key". However, the cause of the problem can be a null in a later layer. The null
// can have removed a required key, or the only remaining key of a mapping. In this case, checkValue reports the problem
// at the position of the null.
func (c *checker) checkValue(schema cue.Value, n *document.Node, key problem.Position, path []string) (valid any, ok bool) {
	kind := schema.IncompleteKind()
	switch {
	case n.Unreadable:
		return nil, false
	case len(n.Fields) > MaxKeys:
		c.add(n.Position, path, "want at most %d keys in a mapping, got %d", MaxKeys, len(n.Fields))
		return nil, false
	case len(n.Items) > MaxItems:
		c.add(n.Position, path, "want at most %d items in a list, got %d", MaxItems, len(n.Items))
		return nil, false
	case c.hasHiddenCharacter(schema, n, path) || c.isAmbiguousNumber(schema, n, path):
		return nil, false
	case n.Kind == document.Mapping && kind&cue.StructKind != 0:
		return c.mappingOnce(schema, n, key, path)
	case n.Kind == document.List && kind&cue.ListKind != 0:
		return c.list(schema, n, path)
	}
	if valid, ok := c.checkScalar(schema, n); ok {
		return valid, true
	}
	c.refuse(schema, n, path)
	return nil, false
}

// checkScalar checks a scalar, and returns it in the spelling that trainyard uses in generated objects. If the node is
// null or is not a scalar, the result "ok" is false. The schema must accept both the original spelling of the scalar
// and the returned spelling. If the schema refuses one of the two spellings, "ok" is false too.
func (c *checker) checkScalar(schema cue.Value, n *document.Node) (valid any, ok bool) {
	if n.Kind != document.Scalar || n.Scalar == nil || !c.admitsScalar(schema, n.Scalar) {
		return nil, false
	}
	if !c.schemas.describeField(schema).quantity {
		return n.Scalar, true
	}
	valid = canonicalQuantity(n.Scalar)
	return valid, valid == n.Scalar || c.admitsScalar(schema, valid)
}

func (c *checker) list(schema cue.Value, n *document.Node, path []string) (valid []any, ok bool) {
	element := schema.LookupPath(cue.MakePath(cue.AnyIndex))
	valid, ok = []any{}, true
	for i, item := range n.Items {
		v, valued := c.checkValue(element, item, item.Position, values.Extend(path, strconv.Itoa(i)))
		valid, ok = append(valid, v), ok && valued
	}
	c.checkReferences(schema, n, valid, path)
	return valid, ok
}

// canonicalQuantity returns a quantity in the spelling of Kubernetes, such as 1Gi for 1024Mi. Some controllers, such
// as Trainer 2.1, convert quantities to the spelling of Kubernetes when they write an object back. If trainyard wrote
// a quantity in another spelling, such a controller would change the field, and would become its owner for
// server-side apply.
func canonicalQuantity(scalar any) any {
	text := fmt.Sprint(scalar)
	if f, ok := scalar.(float64); ok {
		text = strconv.FormatFloat(f, 'f', -1, 64) // without an exponent, because ParseQuantity would keep the exponent
	}
	quantity, err := resource.ParseQuantity(text)
	if err != nil {
		return scalar
	}
	return quantity.String()
}

type verdictKey struct {
	field  string
	scalar any
}

// admitsScalar reports whether a field admits a scalar. Results are cached, because documents contain the same
// names and quantities many times.
func (c *checker) admitsScalar(schema cue.Value, scalar any) bool {
	f := c.schemas.describeField(schema)
	if _, isText := scalar.(string); isText && f.anyString {
		return true
	}
	key := verdictKey{f.name, scalar}
	if admits, known := c.verdicts.Load(key); known {
		return admits == true
	}
	admits := c.evaluator.Admits(schema, scalar)
	if f.name != "" {
		c.verdicts.Store(key, admits)
	}
	return admits
}

type mappingKey struct {
	field   string
	mapping *document.Node
}

// mappingOnce checks a mapping, and caches the result, because several environments can share the mapping. It does
// not cache the result if the mapping has problems or refers to other parts of the document.
func (c *checker) mappingOnce(schema cue.Value, n *document.Node, key problem.Position, path []string) (valid map[string]any, ok bool) {
	this := mappingKey{c.schemas.describeField(schema).name, n}
	if valid, known := c.valid.Load(this); known {
		return valid.(map[string]any), true //nolint:forcetypeassert // nothing else is stored
	}
	problems, lookups := len(c.problems), c.lookups
	valid, ok = c.checkMapping(schema, n, key, path)
	if ok && this.field != "" && len(c.problems) == problems && c.lookups == lookups {
		c.valid.Store(this, valid)
	}
	return valid, ok
}

// checkMapping checks the keys of a mapping. The result "ok" is false if a required key is missing or has a refused
// value.
func (c *checker) checkMapping(schema cue.Value, n *document.Node, key problem.Position, path []string) (valid map[string]any, ok bool) {
	valid = map[string]any{}
	keys := c.schemas.keysOf(schema)
	fields := c.listFields(schema, n)
	n, corrected := c.respell(schema, n, fields, path)
	c.checkNotEmpty(schema, n, key, path)
	c.checkIdleNulls(schema, n, path)
	unknown := len(corrected) > 0
	for i, f := range n.Fields {
		field, known, below := fields[i], fields[i].Exists(), values.Extend(path, f.Key)
		if corrected[f.Key] {
			c.refused = append(c.refused, below)
			continue
		}
		if !known {
			c.breaks(problem.UnknownKey, f.Position, below, "%s", c.describeUnknown(schema, f.Key))
			unknown = true
			if keysAreDevices(schema) { // rules about devices would report the missing device again
				c.refused = append(c.refused, below)
			}
			field = evaluate.AnyField(schema)
			if f.Value.Kind == document.Scalar || !admitsEntries(field) { // the value may be valid for the key that the author meant
				continue
			}
		}
		switch v, ok := c.checkValue(field, f.Value, f.Position, below); {
		case ok && known:
			valid[f.Key] = v
		case known:
			c.refused = append(c.refused, below)
		}
	}
	// If a key is unknown, skip the check that combines several fields. The reason is that the unknown key can be a
	// misspelling of a field that this check needs. In this case, the check would report the same mistake again.
	if !unknown {
		c.relate(schema, n, path)
	}
	c.checkRequired(schema, n, key, path)
	return valid, !slices.ContainsFunc(keys.required, func(key string) bool { return valid[key] == nil })
}

// keysAreDevices reports whether each key of a mapping must be the name of a device.
func keysAreDevices(schema cue.Value) bool {
	mark, ok := evaluate.Mark(schema, "keys")
	form, _ := mark.String(0) // each attribute @keys begins with the name of a definition
	return ok && form == "DeviceName"
}

// admitsEntries reports whether a value can be a mapping or a list.
func admitsEntries(schema cue.Value) bool {
	return schema.IncompleteKind()&(cue.StructKind|cue.ListKind) != 0
}

func (c *checker) checkRequired(schema cue.Value, n *document.Node, key problem.Position, path []string) {
	keys := c.schemas.keysOf(schema)
	for _, required := range keys.required {
		if n.Get(required) != nil || n.Incomplete || c.isMisplacedBelow(schema, n, required) {
			continue
		}
		at := key
		if null, ok := n.Removed(required); ok {
			if c.hasProblemAt(null) { // an earlier check has reported that the document still uses the mapping
				continue
			}
			at = null
		}
		c.breaks(problem.MissingKey, at, path, "missing key %q: %s", required, wording.LowerFirst(constraint.Sentence(keys.known[required])))
	}
}

// isMisplacedBelow reports whether the author has written a key one level too high. For example, a document lacks
// "spec", and has "runtimes" at the top level instead of below "spec". The argument "required" is the name of the key
// that the mapping "n" lacks, such as "spec". The result is true if "n" contains a key, such as "runtimes", that meets
// three conditions. First, the schema does not define this key in "n" itself. Second, the schema defines this key
// directly below the missing key. For example, the schema defines "runtimes" directly below "spec". Third, the schema
// defines this key in no other mapping directly below "n".
func (c *checker) isMisplacedBelow(schema cue.Value, n *document.Node, required string) bool {
	return slices.ContainsFunc(n.Fields, func(f document.Field) bool {
		if _, known := c.schemas.keysOf(schema).known[f.Key]; known {
			return false
		}
		return slices.Equal(c.schemas.keysBelow(schema, f.Key), []string{required + "." + f.Key})
	})
}

// hasProblemAt reports whether the checker has already reported a problem at a position.
func (c *checker) hasProblemAt(position problem.Position) bool {
	return slices.ContainsFunc(c.problems, func(p problem.Problem) bool { return p.Position == position })
}

// listFields returns the schema of each key of a mapping. For an unknown key, the schema is a cue.Value whose method
// Exists returns false.
func (c *checker) listFields(schema cue.Value, n *document.Node) []cue.Value {
	keys, fields := c.schemas.keysOf(schema), make([]cue.Value, len(n.Fields))
	for i, f := range n.Fields {
		var known bool
		if fields[i], known = keys.known[f.Key]; !known {
			fields[i] = evaluate.Descend(schema, f.Key)
		}
	}
	return fields
}

// checkNotEmpty refuses an empty mapping if its schema has the attribute @nonempty() or @nonempty(NOUN). If the author
// of a document chooses all keys of a mapping, the mapping has the attribute @nonempty(NOUN). For example,
// @nonempty(runtime) leads to the message "want at least one runtime". A mapping with fixed keys has the attribute
// @nonempty(). For such a mapping, the message lists the keys that the schema allows. An example of this message is
// `want at least one of "cpu", "memory"`.
func (c *checker) checkNotEmpty(schema cue.Value, n *document.Node, key problem.Position, path []string) {
	mark := schema.Attribute("nonempty")
	nulls := n.Removals()
	if mark.Err() != nil || len(n.Fields) > 0 || n.Incomplete {
		return
	}
	want, added := "at least one "+mark.Contents(), ", or add an entry"
	switch known := wording.QuoteAll(slices.Sorted(maps.Keys(c.schemas.keysOf(schema).known))); {
	case mark.Contents() != "":
	case len(known) == 1:
		want = "the key " + known[0]
		added = ""
	default:
		want += "of " + strings.Join(known, ", ")
	}
	if len(nulls) > 0 {
		key, want = nulls[len(nulls)-1], want+": remove this null"+added
	}
	c.add(key, path, "want %s", want)
}

func (c *checker) refuse(schema cue.Value, n *document.Node, path []string) {
	want := constraint.Of(schema)
	complaint := fmt.Sprintf("want %s, got %s", want, wording.Describe(n, want.Kind))
	text, isText := n.Scalar.(string)
	if isText {
		if correction := correct(text, want); correction != "" {
			complaint += fmt.Sprintf(": did you mean %s?", correction)
		}
		if number, err := strconv.ParseInt(text, 10, 64); err == nil && c.admitsScalar(schema, number) {
			complaint += ": write it without quotes"
		}
		complaint += wording.Lookalike(text)
	}
	if n.Kind == document.Scalar && n.Scalar != nil && !isText && c.admitsScalar(schema, n.Text) {
		complaint += ": put it in quotes"
	}
	rule := problem.WrongValue
	if whole, ok := n.Scalar.(float64); ok && whole == math.Trunc(whole) && c.admitsScalar(schema, int64(whole)) {
		// If the rule of a problem is WrongValue, the exported JSON Schema must refuse the value too. But JSON Schema
		// accepts a number such as 2.0 as an integer. Therefore a number such as 2.0 causes a problem with the rule
		// Invalid, and not with the rule WrongValue.
		rule = problem.Invalid
		complaint += fmt.Sprintf(": did you mean %.0f?", whole)
	}
	c.breaks(rule, n.Position, path, "%s", complaint)
}

func (c *checker) add(position problem.Position, path []string, format string, args ...any) {
	c.breaks(problem.WrongValue, position, path, format, args...)
}

func (c *checker) breaks(rule problem.Rule, position problem.Position, path []string, format string, args ...any) {
	c.reported = append(c.reported, path)
	c.problems = append(c.problems, problem.Problem{
		Position: position,
		Rule:     rule,
		Path:     problem.Path(path),
		Message:  fmt.Sprintf(format, args...),
	})
}
