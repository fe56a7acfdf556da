package problem

import (
	"fmt"
	"slices"
	"strings"
)

// Phrase is a text in a report. The text ends with a list of names, such as: namespaces team-a, team-b. For people, a
// long list is shortened. For programs, the list is complete. Phrases can be compared with ==, and the comparison
// includes all names.
type Phrase struct {
	text  string // the text before the names
	names string // all names, sorted, and separated by separator
}

// separator separates the names of a phrase. Names of Kubernetes objects contain no comma.
const separator = ", "

// maxNames is the maximum number of names in a text for people.
const maxNames = 4

// NewPhrase returns a phrase of a text, followed by the sorted names.
func NewPhrase(text string, names ...string) Phrase {
	return Phrase{text, strings.Join(slices.Sorted(slices.Values(names)), separator)}
}

// String returns the phrase for people, with at most four names and the number of further names.
func (p Phrase) String() string {
	names := strings.Split(p.names, separator)
	if more := len(names) - maxNames; more > 0 {
		return p.text + strings.Join(names[:maxNames], separator) + fmt.Sprintf(" and %d more", more)
	}
	return p.text + p.names
}

// MarshalText returns the phrase for programs, with all names.
func (p Phrase) MarshalText() ([]byte, error) { return []byte(p.text + p.names), nil }
