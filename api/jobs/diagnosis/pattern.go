package diagnosis

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
)

// pattern is a regular expression, together with required words (see the field "required"). A quick search first looks
// for the required words in a text. These words are divided into clauses. The expression can match a text only if the
// text contains at least one word of each clause. Most texts do not meet this condition, so few texts are matched
// against the expression.
type pattern struct {
	// The field "expression" is a function that compiles the regular expression at the first call, and returns the
	// compiled expression. Most texts are matched against only a few expressions, so most expressions need not be
	// compiled.
	expression func() *regexp.Regexp
	// required is a list of clauses, and a clause is a list of lower-case words. The expression can match a text only
	// if the text, converted to lower case, contains at least one word of each clause. A search for these words is many
	// times faster than matching the expression. Therefore a line is matched against the expression only if the line
	// contains at least one word of each clause. If newPatterns found no required words in the expression, the list of
	// clauses is empty.
	required []clause
}

type clause []string

// newPatterns converts a regular expression to patterns. If the whole expression is a list of alternatives, each
// alternative becomes a pattern of its own. Each of these patterns has its own required words. The function mayMatch
// can therefore exclude a single alternative, even if other alternatives may match the text.
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

// mayMatch reports whether a text can contain a match. The argument "lower" is the whole text, converted to lower case.
func (p pattern) mayMatch(lower string) bool {
	for _, c := range p.required {
		if !slices.ContainsFunc(c, func(word string) bool { return strings.Contains(lower, word) }) {
			return false
		}
	}
	return true
}

// narrow prepares the pattern for a search in the lines of one text. It returns a copy whose clauses contain only the
// words that occur in this text. The second result reports whether the text can contain a match. The argument "lower"
// is the whole text, converted to lower case. The argument "g" is the set of byte sequences (grams) in "lower".
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

// minWord is the minimum length of a required word. Words that are shorter than minWord are not
// useful, because most lines contain them.
const minWord = 3

// requiredOf returns the required words of an expression as a list of clauses. A clause is a list of lower-case words.
// If the expression matches a text, the lower-case copy of this text contains at least one word of each clause.
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

// mostSelective returns the clause that probably excludes the most texts. A clause excludes a text if the text contains
// no word of the clause. Short words occur in many texts, so a clause with a short word excludes few texts. The score
// of a clause is therefore the length of its shortest word. mostSelective returns the clause with the highest score.
// The result is nil if the list of clauses is empty.
func mostSelective(clauses []clause) (best clause) {
	for _, c := range clauses {
		if best == nil || shortest(c) > shortest(best) {
			best = c
		}
	}
	return best
}

// shortest returns the length of the shortest word in a clause, in bytes.
func shortest(c clause) int {
	return len(slices.MinFunc(c, func(a, b string) int { return len(a) - len(b) }))
}
