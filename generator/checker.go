package generator

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"cuelang.org/go/cue"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/trainyard/trainyard/generator/internal/constraint"
	"github.com/trainyard/trainyard/generator/internal/document"
	"github.com/trainyard/trainyard/generator/problem"
)

// checker walks a document and the schema side by side. CUE decides whether a
// scalar fits; the walk is ours, because CUE reports an unknown key only when
// nothing else is wrong, and one mistake in a disjunction many times.
type checker struct {
	engine      *engine
	definitions cue.Value      // the package that the document's schema is defined in
	document    *document.Node // all of it, for values that refer to keys elsewhere
	problems    problem.List
	verdicts    *sync.Map       // of fits: whether a verdict's value fits
	judged      *sync.Map       // of once: what is sound of a judgement's mapping
	lookups     int             // how often the rest of the document was looked at
	respelled   map[string]bool // the paths that mistyped keys are taken for
}

// Bounds on what a person may add by number: evaluation time grows with it.
const (
	maxKeys  = 256 // keys of a mapping
	maxItems = 64  // items of a list
)

// value checks one node and returns what is sound of it, as plain Go values; ok
// is false if nothing is. Key is where to report what the node lacks.
func (c *checker) value(schema cue.Value, n *document.Node, key problem.Position, path []string) (sound any, ok bool) {
	kind := schema.IncompleteKind()
	switch {
	case n.Bad:
		return nil, false
	case len(n.Fields) > maxKeys:
		c.add(n.Position, path, "want at most %d keys in a mapping, got %d", maxKeys, len(n.Fields))
		return nil, false
	case len(n.Items) > maxItems:
		c.add(n.Position, path, "want at most %d items in a list, got %d", maxItems, len(n.Items))
		return nil, false
	case c.garbled(schema, n, path) || c.ambiguous(schema, n, path):
		return nil, false
	case n.Kind == document.Mapping && kind&cue.StructKind != 0:
		return c.once(schema, n, key, path), true
	case n.Kind == document.List && kind&cue.ListKind != 0:
		return c.list(schema, n, path), true
	}
	if sound, ok := c.scalar(schema, n); ok {
		return sound, true
	}
	c.refuse(schema, n, path)
	return nil, false
}

// garbled refuses text that nobody could see: it is pasted by mistake, or meant
// to mislead whoever reads the file.
func (c *checker) garbled(schema cue.Value, n *document.Node, path []string) bool {
	text, _ := n.Scalar.(string)
	for _, r := range text {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unseen, r)) {
			c.breaks(c.formOf(schema, n), n.Position, path, "the character U+%04X is not allowed in text", r)
			return true
		}
	}
	return false
}

// unseen are characters that show nothing, or change the order in which others are shown.
var unseen = &unicode.RangeTable{R16: []unicode.Range16{
	{Lo: 0x00AD, Hi: 0x00AD, Stride: 1},
	{Lo: 0x200B, Hi: 0x200B, Stride: 1},
	{Lo: 0x200E, Hi: 0x200F, Stride: 1},
	{Lo: 0x202A, Hi: 0x202E, Stride: 1},
	{Lo: 0x2060, Hi: 0x2069, Stride: 1},
	{Lo: 0xFEFF, Hi: 0xFEFF, Stride: 1},
	{Lo: 0xFFFD, Hi: 0xFFFF, Stride: 1},
}, LatinOffset: 1}

// plainNumber is a number that everybody reads alike. To readers of YAML 1.1 is 017 fifteen,
// to those of 1.2 seventeen.
var plainNumber = regexp.MustCompile(`^[-+]?([1-9][0-9]*|0)?(\.[0-9]*)?([eE][-+]?[0-9]+)?$`)

// ambiguous refuses a number that is not written in plain digits.
func (c *checker) ambiguous(schema cue.Value, n *document.Node, path []string) bool {
	switch n.Scalar.(type) {
	case int64, uint64, float64:
	default:
		return false
	}
	if schema.IncompleteKind()&cue.NumberKind == 0 || plainNumber.MatchString(n.Text) {
		return false
	}
	c.breaks(c.formOf(schema, n), n.Position, path, "want a number in plain digits, without a leading 0 or \"_\", got %s, which reads as %v", problem.Number(n.Text), n.Scalar)
	return true
}

// formOf is the rule that a value breaks which cannot stay: the schema may admit it all the same.
func (c *checker) formOf(schema cue.Value, n *document.Node) problem.Rule {
	if c.fits(schema, n.Scalar) {
		return unsound
	}
	return wrongValue
}

// scalar returns a value that fits, as it will be written.
func (c *checker) scalar(schema cue.Value, n *document.Node) (sound any, ok bool) {
	if n.Kind != document.Scalar || n.Scalar == nil || !c.fits(schema, n.Scalar) {
		return nil, false
	}
	if !c.engine.traitsOf(schema).quantity {
		return n.Scalar, true
	}
	sound = canonical(n.Scalar)
	return sound, sound == n.Scalar || c.fits(schema, sound)
}

func (c *checker) list(schema cue.Value, n *document.Node, path []string) []any {
	element := schema.LookupPath(cue.MakePath(cue.AnyIndex))
	sound := []any{}
	for i, item := range n.Items {
		v, ok := c.value(element, item, item.Position, extend(path, strconv.Itoa(i)))
		if !ok {
			v = doubt{schema: element}
		}
		sound = append(sound, v)
	}
	c.references(schema, n, sound, path)
	return sound
}

// canonical spells a quantity the way Kubernetes does: a controller that writes
// an object back, as Trainer 2.1 does, would otherwise change 1024Mi into 1Gi, and
// own it from then on.
func canonical(scalar any) any {
	text := fmt.Sprint(scalar)
	if f, ok := scalar.(float64); ok {
		text = strconv.FormatFloat(f, 'f', -1, 64) // never with an exponent, which would stay
	}
	quantity, err := resource.ParseQuantity(text)
	if err != nil {
		return scalar
	}
	return quantity.String()
}

// fits asks CUE, once for each field and value: names and quantities come again
// and again, most of all in a list of many tenants.
func (c *checker) fits(schema cue.Value, scalar any) bool {
	field := c.engine.traitsOf(schema)
	if _, isText := scalar.(string); isText && field.bare {
		return true
	}
	key := verdict{field.name, scalar}
	if fits, known := c.verdicts.Load(key); known {
		return fits == true
	}
	fits := schema.Unify(c.engine.context.Encode(scalar)).Validate(cue.Concrete(true)) == nil
	if field.name != "" {
		c.verdicts.Store(key, fits)
	}
	return fits
}

// verdict is a value held against a field.
type verdict struct {
	field  string // as traits name it
	scalar any
}

// judgement is a mapping held against a field.
type judgement struct {
	field   string // as traits name it
	mapping *document.Node
}

// once checks a mapping, or remembers that it was found sound: environments have most of their nodes in
// common. What depends on the rest of the document is judged in each.
func (c *checker) once(schema cue.Value, n *document.Node, key problem.Position, path []string) map[string]any {
	this := judgement{c.engine.traitsOf(schema).name, n}
	if sound, known := c.judged.Load(this); known {
		return sound.(map[string]any) //nolint:forcetypeassert // nothing else is stored
	}
	problems, lookups := len(c.problems), c.lookups
	sound := c.mapping(schema, n, key, path)
	if this.field != "" && len(c.problems) == problems && c.lookups == lookups {
		c.judged.Store(this, sound)
	}
	return sound
}

// mapping checks keys: those that are there, then those that should be.
func (c *checker) mapping(schema cue.Value, n *document.Node, key problem.Position, path []string) map[string]any {
	sound := map[string]any{}
	keys := c.engine.keysOf(schema)
	fields := c.fieldsOf(schema, n)
	n, guessed := c.respell(schema, n, fields, path)
	c.filled(schema, n, key, path)
	for i, f := range n.Fields {
		if guessed[f.Key] {
			sound[f.Key] = doubt{fields[i], !slices.Contains(keys.required, f.Key)}
			continue
		}
		field, known, below := fields[i], fields[i].Exists(), extend(path, f.Key)
		if !known {
			c.breaks(unknownKey, f.Position, below, "%s", c.unknown(schema, f.Key))
			field = anyField(schema)
		}
		if !field.Exists() {
			continue
		}
		v, ok := c.value(field, f.Value, f.Position, below)
		switch {
		case ok && known:
			sound[f.Key] = v
		case known:
			sound[f.Key] = doubt{field, !slices.Contains(keys.required, f.Key)}
		}
	}
	c.relate(schema, n, path)
	for _, required := range keys.required {
		if n.Get(required) != nil {
			continue
		}
		sound[required] = doubt{schema: keys.known[required]}
		if !n.Partly {
			at := key
			if null, ok := n.Removed(required); ok {
				at = null
			}
			c.breaks(missingKey, at, path, "missing key %q: %s", required, lowerFirst(constraint.Sentence(keys.known[required])))
		}
	}
	return sound
}

// fieldsOf are the schemas of a mapping's keys, which do not exist for keys that nobody knows.
func (c *checker) fieldsOf(schema cue.Value, n *document.Node) []cue.Value {
	keys, fields := c.engine.keysOf(schema), make([]cue.Value, len(n.Fields))
	for i, f := range n.Fields {
		var known bool
		if fields[i], known = keys.known[f.Key]; !known {
			fields[i] = descend(schema, []string{f.Key})
		}
	}
	return fields
}

// respell reports keys that are mistyped, and takes them for those that were probably meant: to say that
// these are missing would be to report the same mistake again. What stands there may belong to another
// key after all, and is not judged.
func (c *checker) respell(schema cue.Value, n *document.Node, fields []cue.Value, path []string) (meant *document.Node, guessed map[string]bool) {
	meant, guessed = n, map[string]bool{}
	for i, f := range n.Fields {
		if fields[i].Exists() {
			continue
		}
		key := c.meantKey(schema, meant, f.Key)
		if key == "" {
			continue
		}
		c.breaks(unknownKey, f.Position, extend(path, f.Key), "%s", c.unknown(schema, f.Key))
		meant, guessed[key], fields[i] = meant.Renamed(i, key), true, c.engine.keysOf(schema).known[key]
		c.respelled[problem.Path(extend(path, key))] = true
	}
	return meant, guessed
}

// meantKey is the key that was probably meant by one that nobody knows, if it is not there itself.
func (c *checker) meantKey(schema cue.Value, n *document.Node, key string) string {
	var free []string
	for known := range c.engine.keysOf(schema).known {
		if n.Get(known) == nil {
			free = append(free, known)
		}
	}
	slices.Sort(free)
	meant := problem.Nearest(key, free)
	if _, named := markOf(schema, "keys"); named && meant != "" && meant[0] != key[0] { // gpu is not cpu
		return ""
	}
	return meant
}

// filled refuses a mapping with no keys where @nonempty() asks for one of those that it knows, or
// @nonempty(NOUN) for a name that a person chooses.
func (c *checker) filled(schema cue.Value, n *document.Node, key problem.Position, path []string) {
	mark := schema.Attribute("nonempty")
	if mark.Err() != nil || len(n.Fields) > 0 || n.Partly {
		return
	}
	if noun := mark.Contents(); noun != "" {
		c.add(key, path, "want at least one %s", noun)
		return
	}
	known := slices.Sorted(maps.Keys(c.engine.keysOf(schema).known))
	c.add(key, path, "want at least one of %s", strings.Join(known, ", "))
}

// unknown says why a key is refused: it has the wrong form, where any key of
// the right form would do, or it is not one of those that exist.
func (c *checker) unknown(schema cue.Value, key string) string {
	var known []string
	for fields := fieldsOf(schema); fields.Next(); {
		known = append(known, fields.Selector().Unquoted())
	}
	keys, ok := markOf(schema, "keys")
	if !ok {
		return choice("unknown key", key, known)
	}
	form, _ := keys.String(0) // both are always given
	want := "want as key " + constraint.Sentence(c.definitions.LookupPath(cue.MakePath(cue.Def(form))))
	for _, name := range known {
		want += ", or " + name
	}
	if meant := problem.Nearest(key, known); meant != "" && meant[0] == key[0] { // gpu is not cpu
		want += fmt.Sprintf(": did you mean %s?", problem.Quote(meant))
	}
	return want + strange(key)
}

// anyField is the schema below keys that a person chooses. What stands below a
// key of the wrong form is checked too, so that its mistakes are not hidden.
func anyField(schema cue.Value) cue.Value {
	keys, ok := markOf(schema, "keys")
	if !ok {
		return cue.Value{}
	}
	sample, _ := keys.String(1)
	return descend(schema, []string{sample})
}

// refuse reports a value that its schema does not admit.
func (c *checker) refuse(schema cue.Value, n *document.Node, path []string) {
	want := constraint.Of(schema)
	got := describe(n, want.Kind)
	message := fmt.Sprintf("want %s, got %s", want, got)
	if text, ok := n.Scalar.(string); ok {
		if meant := meantBy(text, want); meant != "" {
			message += fmt.Sprintf(": did you mean %s?", meant)
		}
		if number, err := strconv.ParseInt(text, 10, 64); err == nil && c.fits(schema, number) {
			message += ": write it without quotes"
		}
		message += strange(text)
	}
	if n.Kind == document.Scalar && n.Scalar != nil && c.fits(schema, n.Text) {
		message += ": put it in quotes"
	}
	rule := wrongValue
	if whole, ok := n.Scalar.(float64); ok && whole == math.Trunc(whole) && c.fits(schema, int64(whole)) {
		rule = unsound // JSON knows one kind of number
		message += fmt.Sprintf(": did you mean %.0f?", whole)
	}
	c.breaks(rule, n.Position, path, "%s", message)
}

// extend adds a key to a path without touching it.
func extend[K any](path []K, key K) []K {
	return append(path[:len(path):len(path)], key)
}

// add reports a value that breaks its schema in any way that has no rule of its own.
func (c *checker) add(position problem.Position, path []string, format string, args ...any) {
	c.breaks(wrongValue, position, path, format, args...)
}

func (c *checker) breaks(rule problem.Rule, position problem.Position, path []string, format string, args ...any) {
	c.problems = append(c.problems, problem.Problem{
		Position: position,
		Rule:     rule,
		Path:     problem.Path(path),
		Message:  fmt.Sprintf(format, args...),
	})
}
