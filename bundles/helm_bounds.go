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
	Key string   `json:"key"` // of the part of the document that it belongs to
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
		most, h := c.at(bound.Key), held{most: bound.Amount}
		for _, i := range bound.Sums {
			sum := bounds.Sums[i]
			switch first := c.at(sum.Of[0].Key); {
			case most == nil && len(sum.Of) == 1 && first.isWhole():
				first.most = bound.Value
			case most.isWhole() && len(sum.Of) == 1 && first == nil:
				most.least = sum.Of[0].Value
			case most != nil || slices.ContainsFunc(sum.Of, func(a Amount) bool { return c.at(a.Key) != nil }):
				h.sums = append(h.sums, c.variable(sum))
			}
		}
		if len(h.sums) > 0 {
			c.held = append(c.held, h)
		}
	}
}

// variable is the number of the template's variable that has a sum, which is the same for all bounds.
func (c *helmChart) variable(sum Sum) int {
	at := slices.IndexFunc(c.sums, func(s Sum) bool { return s.Who == sum.Who && slices.Equal(s.Of, sum.Of) })
	if at < 0 {
		at, c.sums = len(c.sums), append(c.sums, sum)
	}
	return at
}

// at is the value that has a key, or holds those that do; nil if there is none.
func (c *helmChart) at(key string) *helmValue {
	var found *helmValue
	values := c.values
	if key == "" {
		return nil
	}
	for _, step := range stepsOf(key) {
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

// held are sums that are to stay within a bound.
type held struct {
	most Amount
	sums []int // by the numbers of their variables
}

// bounds is a template that makes nothing, and fails where values do not go together. What parts ask for that
// the release has not is nothing, and what bounds them is not looked at. Sums come first, so that a bound of
// many takes a few bytes for each: Helm reads no file of more than 5 MiB.
func (c *helmChart) bounds() []byte {
	var b bytes.Buffer
	for i, sum := range c.sums {
		var terms []string
		for _, a := range sum.Of {
			terms = append(terms, c.term(a))
		}
		fmt.Fprintf(&b, "{{- $s%d := list %q %q }}\n{{- if %s }}{{ $s%[1]d = list %[2]q (include %[5]q (list %[6]s)) }}{{ end }}\n",
			i, sum.Who, "0", c.at(sum.Key).released(), c.name+".sum", strings.Join(terms, " "))
	}
	for _, h := range c.held {
		var sums strings.Builder
		for _, i := range h.sums {
			fmt.Fprintf(&sums, " $s%d", i)
		}
		fmt.Fprintf(&b, "{{- if %s }}{{ include %q (list %q %s%s) }}{{ end }}\n", c.at(h.most.Key).released(), c.name+".atMost",
			shownPath(stepsOf(h.most.Key)), c.term(h.most), sums.String())
	}
	return b.Bytes()
}

// released is whether a release has any part that has a value or, of one that holds others, any of these, in
// Helm's language. What no part has is not the release's to leave out.
func (v *helmValue) released() string {
	parts := map[string]bool{}
	if v != nil {
		v.collect(parts)
	}
	var names []string
	for _, part := range slices.Sorted(maps.Keys(parts)) {
		names = append(names, ".Values.components."+part)
	}
	switch len(names) {
	case 0:
		return "true"
	case 1:
		return names[0]
	}
	return "or " + strings.Join(names, " ")
}

func (v *helmValue) collect(parts map[string]bool) {
	maps.Copy(parts, v.parts)
	for _, below := range v.below {
		below.collect(parts)
	}
}

// term is an amount in Helm's language.
func (c *helmChart) term(a Amount) string {
	if c.at(a.Key) != nil {
		return valuePath(stepsOf(a.Key))
	}
	return string(mustJSON(a.Value))
}
