package diagnosis

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// pattern is a compiled regular expression.
type pattern struct {
	expression *regexp.Regexp
	// required contains lower-case texts. Every match, converted to lower case, contains at least one of them. mayMatch
	// searches for these texts, because this is many times faster than matching the expression. If required is empty, no
	// such texts are known.
	required []string
}

// mayMatch reports whether a text can contain a match. The argument is the text in lower case.
func (p pattern) mayMatch(lower string) bool {
	return len(p.required) == 0 || slices.ContainsFunc(p.required, func(required string) bool { return strings.Contains(lower, required) })
}

// requiredTexts returns lower-case texts. Every match of the expression, converted to lower case, contains at least one of
// them. The result is empty if no such texts are known.
func requiredTexts(expression string) []string {
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return nil
	}
	return requiredOf(parsed.Simplify())
}

func requiredOf(e *syntax.Regexp) []string {
	switch e.Op {
	case syntax.OpLiteral:
		return []string{strings.ToLower(string(e.Rune))}
	case syntax.OpCapture, syntax.OpPlus:
		return requiredOf(e.Sub[0])
	case syntax.OpConcat:
		var best []string
		for _, sub := range e.Sub {
			if found := requiredOf(sub); shortest(found) > shortest(best) {
				best = found
			}
		}
		return best
	case syntax.OpAlternate:
		var all []string
		for _, sub := range e.Sub {
			found := requiredOf(sub)
			if len(found) == 0 {
				return nil
			}
			all = append(all, found...)
		}
		return all
	}
	return nil
}

// shortest returns the length of the shortest text, or 0 if the list is empty.
func shortest(texts []string) int {
	if len(texts) == 0 {
		return 0
	}
	length := len(texts[0])
	for _, text := range texts {
		length = min(length, len(text))
	}
	return length
}
