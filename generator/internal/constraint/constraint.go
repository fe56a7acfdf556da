// Package constraint reads the constraints of a CUE value, such as its types and its range. The package describes
// constraints as text for messages and as JSON Schema. It does not check values, because CUE itself decides whether a
// value satisfies its constraints.
package constraint

import (
	"encoding/json"
	"fmt"
	"strings"

	"cuelang.org/go/cue"
)

// Constraint holds all constraints of one CUE value, such as its allowed types and its range.
type Constraint struct {
	Kind         cue.Kind // the allowed types
	Doc          string   // the doc comment of a scalar's definition, such as "a duration such as 90s"
	Enum         []any    // the allowed values, if they are listed
	Min          *bound
	Max          *bound
	Patterns     []string     // patterns that the value must match
	Refused      []string     // patterns that the value must not match
	MaxLength    json.Number  // in characters
	Alternatives []Constraint // alternatives of a disjunction, if they are not single values
	Unsupported  []string     // expressions of CUE that this package cannot read
}

type bound struct {
	value     json.Number
	exclusive bool
}

// Of returns the constraints of a CUE value.
func Of(v cue.Value) Constraint {
	c := Constraint{Kind: v.IncompleteKind()}
	if root, path := v.ReferencePath(); root.Exists() && len(path.Selectors()) > 0 {
		v = root.LookupPath(path)
		if c.Kind&(cue.StructKind|cue.ListKind) == 0 {
			c.Doc = Sentence(v)
		}
	}
	c.read(v)
	return c
}

func (c *Constraint) read(v cue.Value) {
	op, args := v.Expr()
	switch {
	case op == cue.AndOp:
		for _, arg := range args {
			c.read(arg)
		}
	case op == cue.OrOp:
		c.readAlternatives(args)
	case op == cue.GreaterThanOp, op == cue.GreaterThanEqualOp:
		c.Min = &bound{number(args[0]), op == cue.GreaterThanOp}
	case op == cue.LessThanOp, op == cue.LessThanEqualOp:
		c.Max = &bound{number(args[0]), op == cue.LessThanOp}
	case op == cue.RegexMatchOp, op == cue.NotRegexMatchOp:
		c.readPattern(op, args[0])
	case op == cue.CallOp && fmt.Sprint(args[0]) == "strings.MaxRunes":
		c.MaxLength = number(args[1])
	case op == cue.SelectorOp:
		root, path := v.ReferencePath()
		c.read(root.LookupPath(path))
	case op != cue.NoOp:
		c.Unsupported = append(c.Unsupported, fmt.Sprint(v))
	case isValue(v):
		c.Enum = append(c.Enum, decoded(v))
	}
}

func (c *Constraint) readPattern(op cue.Op, v cue.Value) {
	pattern, _ := v.String() // a pattern is always a string
	if op == cue.RegexMatchOp {
		c.Patterns = append(c.Patterns, pattern)
	} else {
		c.Refused = append(c.Refused, pattern)
	}
}

func (c *Constraint) readAlternatives(alternatives []cue.Value) {
	for _, alternative := range alternatives {
		if isValue(alternative) {
			c.Enum = append(c.Enum, decoded(alternative))
		} else {
			c.Alternatives = append(c.Alternatives, Of(alternative))
		}
	}
}

func isValue(v cue.Value) bool {
	return v.IsConcrete() && v.Kind()&(cue.NumberKind|cue.StringKind) != 0
}

func decoded(v cue.Value) any {
	var value any
	_ = v.Decode(&value) // decoding a concrete scalar cannot fail
	return value
}

func number(v cue.Value) json.Number {
	text, _ := v.MarshalJSON() // a bound is always a number
	return json.Number(text)
}

// Sentence returns the first sentence of a value's doc comment, without its full stop.
func Sentence(v cue.Value) string {
	groups := v.Doc()
	if len(groups) == 0 {
		return ""
	}
	text := strings.Join(strings.Fields(groups[0].Text()), " ")
	first, _, _ := strings.Cut(text, ". ")
	return strings.TrimSuffix(first, ".")
}

// String describes the allowed values in words, such as "an integer from 1 to 8".
func (c Constraint) String() string {
	switch {
	case c.Doc != "":
		return c.Doc
	case len(c.Enum) == 0:
		return noun(c.Kind) + c.describeRange()
	}
	values := make([]string, len(c.Enum))
	for i, value := range c.Enum {
		text, _ := json.Marshal(value) // a scalar always marshals
		values[i] = string(text)
	}
	if len(values) == 1 {
		return values[0]
	}
	return "one of " + strings.Join(values, ", ")
}

// Strings returns the strings among the allowed values.
func (c Constraint) Strings() []string {
	var all []string
	for _, value := range c.Enum {
		if text, ok := value.(string); ok {
			all = append(all, text)
		}
	}
	return all
}

// describeRange describes the range of a number in words, such as " from 1 to 8", or returns "" if there is no range.
func (c Constraint) describeRange() string {
	switch {
	case c.Min != nil && c.Max != nil && !c.Min.exclusive && !c.Max.exclusive:
		return fmt.Sprintf(" from %s to %s", c.Min.value, c.Max.value)
	case c.Min != nil && c.Min.exclusive:
		return fmt.Sprintf(" above %s", c.Min.value)
	case c.Min != nil:
		return fmt.Sprintf(" of at least %s", c.Min.value)
	case c.Max != nil && c.Max.exclusive:
		return fmt.Sprintf(" below %s", c.Max.value)
	case c.Max != nil:
		return fmt.Sprintf(" of at most %s", c.Max.value)
	}
	return ""
}

// kindNames maps each kind of CUE value to its noun in messages and its name in JSON Schema. If a message
// contains several nouns, they have the order of kindNames.
var kindNames = []struct {
	kind       cue.Kind
	noun, name string
}{
	{cue.NumberKind, "a number", "number"},
	{cue.IntKind, "an integer", "integer"},
	{cue.FloatKind, "a number", "number"},
	{cue.BoolKind, "true or false", "boolean"},
	{cue.StringKind, "a string", "string"},
	{cue.ListKind, "a list", "array"},
	{cue.StructKind, "a mapping", "object"},
}

func noun(kind cue.Kind) string {
	var nouns []string
	for _, t := range kindNames {
		if kind&t.kind == t.kind {
			nouns, kind = append(nouns, t.noun), kind&^t.kind
		}
	}
	return strings.Join(nouns, " or ")
}
