package check

import (
	"regexp"
	"unicode"

	"cuelang.org/go/cue"

	"github.com/trainyard/trainyard/api/message"
	"github.com/trainyard/trainyard/generator/internal/document"
	"github.com/trainyard/trainyard/generator/problem"
)

// hiddenCharacters lists the characters that are invisible, or that change the order in which other characters are
// displayed.
var hiddenCharacters = &unicode.RangeTable{R16: []unicode.Range16{
	{Lo: 0x00AD, Hi: 0x00AD, Stride: 1},
	{Lo: 0x200B, Hi: 0x200B, Stride: 1},
	{Lo: 0x200E, Hi: 0x200F, Stride: 1},
	{Lo: 0x202A, Hi: 0x202E, Stride: 1},
	{Lo: 0x2060, Hi: 0x2069, Stride: 1},
	{Lo: 0xFEFF, Hi: 0xFEFF, Stride: 1},
	{Lo: 0xFFFD, Hi: 0xFFFF, Stride: 1},
}, LatinOffset: 1}

// hasHiddenCharacter reports whether a text contains a hidden character, or a control character other than a line feed or
// a tab. It adds a problem for the first of these characters. Authors paste hidden characters by mistake, or to mislead a
// reviewer.
func (c *checker) hasHiddenCharacter(schema cue.Value, n *document.Node, path []string) bool {
	text, _ := n.Scalar.(string)
	for _, r := range text {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(hiddenCharacters, r)) {
			c.breaks(c.spellingRule(schema, n), n.Position, path, "this value contains the character U+%04X, which is not allowed: remove it", r)
			return true
		}
	}
	return false
}

// plainNumber matches numbers that all versions of YAML read in the same way. For example, plainNumber does not match
// 017, which is 15 in YAML 1.1 and 17 in YAML 1.2.
var plainNumber = regexp.MustCompile(`^[-+]?([1-9][0-9]*|0)?(\.[0-9]*)?([eE][-+]?[0-9]+)?$`)

// isAmbiguousNumber reports whether a number is ambiguous. An ambiguous number, such as 017, can have different values
// in different versions of YAML. If a number is ambiguous, isAmbiguousNumber also adds a problem for the number.
func (c *checker) isAmbiguousNumber(schema cue.Value, n *document.Node, path []string) bool {
	switch n.Scalar.(type) {
	case int64, uint64, float64:
	default:
		return false
	}
	if schema.IncompleteKind()&cue.NumberKind == 0 || plainNumber.MatchString(n.Text) {
		return false
	}
	c.breaks(c.spellingRule(schema, n), n.Position, path, "want a number in plain digits, without \"_\" and without a leading 0, got %s, which is read as %v", message.Number(n.Text), n.Scalar)
	return true
}

// spellingRule returns the rule for a problem about a forbidden character or spelling. If the rule of a problem is
// WrongValue, the exported JSON Schema must refuse the value too. Therefore spellingRule returns the rule WrongValue
// only if the schema refuses the value. If the schema admits the value although the character or the spelling is
// forbidden, spellingRule returns the rule Invalid.
func (c *checker) spellingRule(schema cue.Value, n *document.Node) problem.Rule {
	if c.admitsScalar(schema, n.Scalar) {
		return problem.Invalid
	}
	return problem.WrongValue
}
