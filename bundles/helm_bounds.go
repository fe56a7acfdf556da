package bundles

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Bounds are the rules of a document that hold between several of its values, or between a value and what
// only the document can change.
type Bounds struct {
	Sums   []Sum   `json:"sums"`
	Bounds []Bound `json:"bounds"`
}

// Sum is what something asks for.
type Sum struct {
	Who string   `json:"who"` // asks for it
	Of  []Amount `json:"of"`
}

// Bound is a value that none of some sums exceeds.
type Bound struct {
	Amount
	Sums []int `json:"sums"` // by their place in Bounds.Sums
}

// Amount is a value of the document.
type Amount struct {
	Key   string `json:"key"` // of the parameter that has it, if one has
	Value any    `json:"value"`
}

// bind holds values to bounds: those of whole numbers, where one side is fixed, are the schema's, and all
// others a template's.
func (c *helmChart) bind(bounds Bounds) {
	for _, bound := range bounds.Bounds {
		most := c.at(bound.Amount)
		for _, i := range bound.Sums {
			sum := bounds.Sums[i]
			switch first := c.at(sum.Of[0]); {
			case most == nil && len(sum.Of) == 1 && first.isWhole():
				first.most = bound.Value
			case most.isWhole() && len(sum.Of) == 1 && first == nil:
				most.least = sum.Of[0].Value
			case most != nil || slices.ContainsFunc(sum.Of, func(a Amount) bool { return c.at(a) != nil }):
				c.held = append(c.held, held{bound.Amount, sum})
			}
		}
	}
}

// at is the value that has an amount; nil if none has.
func (c *helmChart) at(a Amount) *helmValue {
	var found *helmValue
	values := c.values
	if a.Key == "" {
		return nil
	}
	for _, step := range stepsOf(a.Key) {
		if found = values[step]; found == nil {
			return nil
		}
		values = found.below
	}
	return found
}

// isWhole tells whether a value is a whole number, and no quantity.
func (v *helmValue) isWhole() bool {
	var about struct{ Type string }
	return v != nil && json.Unmarshal(v.parameter.Schema, &about) == nil && about.Type == "integer"
}

// held is a sum that is to stay within a bound.
type held struct {
	most Amount
	sum  Sum
}

// bounds is a template that makes nothing, and fails where values do not go together. It leaves alone what
// is of parts that the release has not.
func (c *helmChart) bounds() []byte {
	var b bytes.Buffer
	for _, h := range c.held {
		var terms, conditions []string
		for _, a := range append([]Amount{h.most}, h.sum.Of...) {
			terms = append(terms, c.term(a))
			if v := c.at(a); v != nil {
				conditions = append(conditions, v.released())
			}
		}
		slices.Sort(conditions)
		fmt.Fprintf(&b, "{{- if and %s }}{{ include %q (list %q %s %q (list %s)) }}{{ end }}\n", strings.Join(slices.Compact(conditions), " "),
			c.name+".atMost", c.shown(h.most), terms[0], h.sum.Who, strings.Join(terms[1:], " "))
	}
	return b.Bytes()
}

// released is whether a release has any part that has the value, in Helm's language.
func (v *helmValue) released() string {
	var parts []string
	for _, part := range slices.Sorted(maps.Keys(v.parts)) {
		parts = append(parts, ".Values.components."+part)
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return "(or " + strings.Join(parts, " ") + ")"
}

// term is an amount in Helm's language.
func (c *helmChart) term(a Amount) string {
	if c.at(a) != nil {
		return valuePath(stepsOf(a.Key))
	}
	return string(mustJSON(a.Value))
}

// shown is how --set names the value of an amount.
func (c *helmChart) shown(a Amount) string {
	if c.at(a) != nil {
		return shownPath(stepsOf(a.Key))
	}
	return string(mustJSON(a.Value))
}
