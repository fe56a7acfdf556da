package problem

import (
	"fmt"
	"slices"
	"strings"
)

// Phrase is a text in a report. The text ends with a list of names, such as: namespaces team-a, team-b. In reports
// for people, a long list of names is shortened. In reports that programs read, the list of names is complete.
// Phrases can be compared with ==, and the comparison includes all names.
type Phrase struct {
	text  string // the text before the names
	names string // all names, sorted, and separated by separator
}

// separator stands between the names in a Phrase. The comma is not ambiguous, because names of
// Kubernetes objects contain no comma.
const separator = ", "

// maxNames is the maximum number of names that String writes.
const maxNames = 4

// NewPhrase returns a Phrase that consists of the given text and the sorted names.
func NewPhrase(text string, names ...string) Phrase {
	return Phrase{text, strings.Join(slices.Sorted(slices.Values(names)), separator)}
}

// String returns the phrase as a text for users. If the phrase has more than four names, String
// writes the first four names and the number of the other names.
func (p Phrase) String() string {
	names := strings.Split(p.names, separator)
	if more := len(names) - maxNames; more > 0 {
		return p.text + strings.Join(names[:maxNames], separator) + fmt.Sprintf(" and %d more", more)
	}
	return p.text + p.names
}

// MarshalText returns the phrase as a text for reports that programs read. The text contains all
// names.
func (p Phrase) MarshalText() ([]byte, error) { return []byte(p.text + p.names), nil }
