// Package constraint reads what a CUE value demands of a scalar, a list or a
// mapping, and says it twice: in words for a person, and as JSON Schema for a
// machine. It does not decide whether a value fits; CUE does.
package constraint

import (
	"encoding/json"
	"fmt"
	"strings"

	"cuelang.org/go/cue"
)

// Constraint is what one CUE value demands.
type Constraint struct {
	Kind      cue.Kind // the kinds that are allowed
	Doc       string   // what the definition of a scalar says of itself, such as "a duration such as 90s"
	Enum      []any    // the only values allowed, if any
	Min       *bound
	Max       *bound
	Patterns  []string
	MaxLength json.Number  // in characters
	Either    []Constraint // alternatives that are not plain values
	Unread    []string     // what is demanded beside, in CUE
}

// bound is the end of a range.
type bound struct {
	value     json.Number
	exclusive bool
}

// Of reads a CUE value.
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

// read takes what one expression adds.
func (c *Constraint) read(v cue.Value) {
	op, args := v.Expr()
	switch op {
	case cue.AndOp:
		for _, arg := range args {
			c.read(arg)
		}
	case cue.OrOp:
		c.readAlternatives(args)
	case cue.GreaterThanOp, cue.GreaterThanEqualOp:
		c.Min = &bound{number(args[0]), op == cue.GreaterThanOp}
	case cue.LessThanOp, cue.LessThanEqualOp:
		c.Max = &bound{number(args[0]), op == cue.LessThanOp}
	case cue.RegexMatchOp:
		pattern, _ := args[0].String() // an expression is always text
		c.Patterns = append(c.Patterns, pattern)
	case cue.CallOp:
		c.call(v, args)
	case cue.SelectorOp:
		c.read(named(v))
	case cue.NoOp:
		if isValue(v) {
			c.Enum = append(c.Enum, plain(v))
		}
	default:
		c.Unread = append(c.Unread, fmt.Sprint(v))
	}
}

// call takes what a function of CUE demands.
func (c *Constraint) call(v cue.Value, args []cue.Value) {
	if fmt.Sprint(args[0]) == "strings.MaxRunes" {
		c.MaxLength = number(args[1])
		return
	}
	c.Unread = append(c.Unread, fmt.Sprint(v))
}

// named is the definition that a value refers to.
func named(v cue.Value) cue.Value {
	root, path := v.ReferencePath()
	return root.LookupPath(path)
}

func (c *Constraint) readAlternatives(alternatives []cue.Value) {
	for _, alternative := range alternatives {
		if isValue(alternative) {
			c.Enum = append(c.Enum, plain(alternative))
		} else {
			c.Either = append(c.Either, Of(alternative))
		}
	}
}

// isValue tells a word or number that is allowed from a kind of words or numbers.
func isValue(v cue.Value) bool {
	return v.IsConcrete() && v.Kind()&(cue.NumberKind|cue.StringKind) != 0
}

func plain(v cue.Value) any {
	var value any
	_ = v.Decode(&value) // a concrete scalar always decodes
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

// String says what is wanted, such as "an integer from 1 to 8".
func (c Constraint) String() string {
	switch {
	case c.Doc != "":
		return c.Doc
	case len(c.Enum) == 1:
		return quote(c.Enum[0])
	case len(c.Enum) > 1:
		return "one of " + strings.Join(quoted(c.Enum), ", ")
	default:
		return noun(c.Kind) + c.span()
	}
}

// Words lists the strings among the only values allowed.
func (c Constraint) Words() []string {
	var words []string
	for _, value := range c.Enum {
		if word, ok := value.(string); ok {
			words = append(words, word)
		}
	}
	return words
}

func (c Constraint) span() string {
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
	default:
		return ""
	}
}

func quoted(values []any) []string {
	texts := make([]string, len(values))
	for i, value := range values {
		texts[i] = quote(value)
	}
	return texts
}

func quote(value any) string {
	text, _ := json.Marshal(value) // scalars always marshal
	return string(text)
}

// nouns say what each kind is called, in the order in which alternatives are named.
var nouns = []struct {
	kind cue.Kind
	noun string
}{
	{cue.NumberKind, "a number"},
	{cue.IntKind, "an integer"},
	{cue.FloatKind, "a number"},
	{cue.BoolKind, "true or false"},
	{cue.StringKind, "a string"},
	{cue.ListKind, "a list"},
	{cue.StructKind, "a mapping"},
}

func noun(kind cue.Kind) string {
	var names []string
	for _, n := range nouns {
		if kind&n.kind == n.kind {
			names, kind = append(names, n.noun), kind&^n.kind
		}
	}
	return strings.Join(names, " or ")
}
