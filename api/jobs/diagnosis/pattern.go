package diagnosis

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
)

// pattern is a regular expression.
type pattern struct {
	// expression returns the compiled expression. The first call compiles it, because most texts need only a few of the patterns.
	expression func() *regexp.Regexp
	// required lists clauses, which are lists of lower-case words. A text, converted to lower case, can match only if it contains
	// at least one word of each clause. mayMatch searches for these words, because this is many times faster than matching the
	// expression. If required is empty, no such words are known.
	required []clause
}

type clause []string

// newPatterns compiles an expression. An expression with alternatives becomes one pattern for each alternative, because a single
// alternative has more required words than the whole expression.
func newPatterns(text string) ([]pattern, error) {
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	alternatives := []*syntax.Regexp{parsed}
	if parsed.Op == syntax.OpAlternate {
		alternatives = parsed.Sub
	}
	var all []pattern
	for _, a := range alternatives {
		expression := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(a.String()) })
		all = append(all, pattern{expression, requiredOf(a.Simplify())})
	}
	return all, nil
}

// mayMatch reports whether a text can contain a match. The argument is the text in lower case.
func (p pattern) mayMatch(lower string) bool {
	for _, c := range p.required {
		if !slices.ContainsFunc(c, func(word string) bool { return strings.Contains(lower, word) }) {
			return false
		}
	}
	return true
}

// narrow returns the pattern without the required words that a text does not contain, and reports whether the text can contain a
// match. The argument "lower" is the text in lower case, and g its grams.
func (p pattern) narrow(lower string, g *grams) (narrowed pattern, mayMatch bool) {
	narrowed.expression = p.expression
	for _, c := range p.required {
		found := slices.DeleteFunc(slices.Clone(c), func(word string) bool { return !g.mayContain(word) || !strings.Contains(lower, word) })
		if len(found) == 0 {
			return pattern{}, false
		}
		narrowed.required = append(narrowed.required, found)
	}
	return narrowed, true
}

// minWord is the minimum length of a required word. Most lines contain all shorter words.
const minWord = 3

// requiredOf returns the clauses of an expression.
func requiredOf(e *syntax.Regexp) []clause {
	switch e.Op {
	case syntax.OpLiteral:
		if len(e.Rune) >= minWord {
			return []clause{{strings.ToLower(string(e.Rune))}}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return requiredOf(e.Sub[0])
	case syntax.OpConcat:
		var all []clause
		for _, sub := range e.Sub {
			all = append(all, requiredOf(sub)...)
		}
		return all
	case syntax.OpAlternate:
		var union clause
		for _, sub := range e.Sub {
			best := mostSelective(requiredOf(sub))
			if best == nil {
				return nil
			}
			union = append(union, best...)
		}
		return []clause{union}
	}
	return nil
}

// mostSelective returns the clause with the greatest minimum length of a word, or nil if the list is empty.
func mostSelective(clauses []clause) (best clause) {
	for _, c := range clauses {
		if best == nil || shortest(c) > shortest(best) {
			best = c
		}
	}
	return best
}

// shortest returns the length of the shortest word in bytes.
func shortest(c clause) int {
	return len(slices.MinFunc(c, func(a, b string) int { return len(a) - len(b) }))
}
