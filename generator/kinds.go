package generator

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/trainyard/trainyard/generator/problem"
)

// Kinds of problems that no rule in rules_SUBJECT.cue finds. The first three are those that
// whoever has the schema finds as well, such as an editor.
var (
	unknownKey  = problem.Rule{Name: "unknown-key", Doc: "A key is one that the schema has, or a name of the form that it asks for"}
	missingKey  = problem.Rule{Name: "missing-key", Doc: "A key that the schema requires is given"}
	wrongValue  = problem.Rule{Name: "wrong-value", Doc: "A value is one that the schema admits"}
	unsound     = problem.Rule{Name: "unsound-value", Doc: "A value of the right form means something, to everybody the same, together with those beside it"}
	unknownName = problem.Rule{Name: "unknown-name", Doc: "A name is that of something in the document"}
	tooLarge    = problem.Rule{Name: "too-large", Doc: "An object is not larger than the API server takes"}
	tooMany     = problem.Rule{Name: "too-many-values", Doc: "A document, and all environments together, have no more keys and values than can be worked on at a time"}
	emptyFile   = problem.Rule{Name: "empty-file", Doc: "A layer says something"}
	idleNull    = problem.Rule{Name: "idle-null", Doc: "A null takes something away that a layer below has"}
)

// ruleOf names the rule in rules_SUBJECT.cue that says a sentence.
func ruleOf(sentence string) problem.Rule {
	first, size := utf8.DecodeRuneInString(sentence)
	return problem.Rule{Name: slug(sentence), Doc: string(unicode.ToUpper(first)) + sentence[size:]}
}

// slug writes a sentence as one lower-case word: an-initializers-address-is-its-uri.
func slug(sentence string) string {
	words := strings.FieldsFunc(strings.ReplaceAll(strings.ToLower(sentence), "'", ""), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	return strings.Join(words, "-")
}
