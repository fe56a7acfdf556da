// Package wording writes parts of messages about documents, such as suggestions for misspelled words.
package wording

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"cuelang.org/go/cue"

	"github.com/trainyard/trainyard/api/message"
	"github.com/trainyard/trainyard/generator/internal/document"
	"github.com/trainyard/trainyard/generator/problem"
)

// maxSuggested is the maximum number of words that one message suggests.
const maxSuggested = 3

// Choice adds a suggestion to a message about a forbidden word. The suggestion consists of the most similar allowed
// words. If no allowed word is similar, or if more than maxSuggested allowed words are similar, the suggestion consists
// of all allowed words. If no word is allowed, Choice adds "there is none".
func Choice(text, word string, allowed []string) string {
	similar := Similar(word, allowed)
	switch n := len(similar); {
	case n > 0 && n <= maxSuggested:
		return text + ": " + Suggestion(similar) + Lookalike(word)
	case len(allowed) == 0:
		return text + ": there is none"
	}
	verb := "want"
	if strings.Contains(text, "want ") { // a second "want" would read as another demand
		verb = "choose"
	}
	return fmt.Sprintf("%s: %s one of %s", text, verb, strings.Join(QuoteAll(allowed), ", "))
}

// Similar returns the allowed words that are most similar to a forbidden word. In a word of up to four letters, Similar
// accepts only one typing error. For example, the word "logs" is not similar to the word "args". A word of one letter
// has no similar words.
func Similar(word string, allowed []string) []string {
	const short = 4
	return slices.DeleteFunc(message.Similar(word, allowed), func(candidate string) bool {
		return len(word) <= short && message.Typos(word, candidate) > min(1, len(word)-1)
	})
}

// Nearest returns the allowed word that is most similar to a forbidden word. If Similar returns several words or none,
// Nearest returns "".
func Nearest(word string, allowed []string) string {
	if similar := Similar(word, allowed); len(similar) == 1 {
		return similar[0]
	}
	return ""
}

// Suggestion returns a question that lists the given words, such as: did you mean "image" or "images"?
func Suggestion(words []string) string {
	return "did you mean " + strings.Join(QuoteAll(words), " or ") + "?"
}

// QuoteAll puts each word in double quotes.
func QuoteAll(words []string) []string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = message.Quote(word)
	}
	return quoted
}

// Lookalike returns a remark about the first printable character outside of ASCII in a word, because this character
// may look like an ASCII letter. If the word contains no such character, Lookalike returns an empty remark.
func Lookalike(word string) string {
	for _, r := range word {
		if r > unicode.MaxASCII && unicode.IsPrint(r) {
			return fmt.Sprintf(" (your text has U+%04X, %q)", r, string(r))
		}
	}
	return ""
}

// Describe describes a value for a message. For a mapping or list, the description is the type. For a scalar, the
// description is the value. The argument "want" contains the expected types. If the value is a text although no text is
// expected, Describe writes the words "the text" before the value. If the value is a number although no number is
// expected, Describe writes the words "the number" before the value.
func Describe(n *document.Node, want cue.Kind) string {
	switch n.Kind {
	case document.Mapping:
		return "a mapping"
	case document.List:
		return "a list"
	}
	switch scalar := n.Scalar.(type) {
	case nil:
		return "nothing"
	case string:
		if want&cue.StringKind == 0 {
			return "the text " + message.Quote(scalar)
		}
		return message.Quote(scalar)
	case bool:
		return n.Text
	default:
		if want&cue.NumberKind == 0 {
			return "the number " + message.Number(n.Text)
		}
		return message.Number(n.Text)
	}
}

// RemovedSection returns the message about a null that removes a whole mapping. The null is a mistake, because the
// document still uses an entry of the removed mapping. The argument "noun" is the word for an entry of the mapping,
// such as "runtime".
func RemovedSection(noun string) string {
	return fmt.Sprintf("this null removes every %[1]s, but the document still refers to one of them: remove the null", noun)
}

// RemovedEntry returns the message for this mistake: a layer removes an entry with null, although the document still
// refers to the entry. The argument "noun" is the word for the removed entry, such as "runtime".
func RemovedEntry(noun, name, path string, reference problem.Position) string {
	return fmt.Sprintf("this null removes %s %s, but the field %s refers to it (at %s): remove the null or the reference", noun, message.Quote(name), path, reference)
}

// LowerFirst returns a text with its first letter in lower case.
func LowerFirst(text string) string {
	r, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToLower(r)) + text[size:]
}
