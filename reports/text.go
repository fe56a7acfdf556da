package reports

import (
	"fmt"
	"io"
	"strings"
)

// maxProblems is how many problems are told in words. Nobody mends more before the
// next run, and the first of them may well be the cause of others.
const maxProblems = 100

// Text is one line per note, problem and failure. Two reports after one another
// are one report of both, so that notes can be told before a run has ended.
var Text = Format{
	Name: "text",
	Doc:  "lines for people, on standard error; of problems at most 100",
	Write: func(w io.Writer, r Report) error {
		var b strings.Builder
		for _, note := range r.Notes {
			b.WriteString("note: " + note.String() + "\n")
		}
		for i, p := range r.Problems {
			if i == maxProblems {
				fmt.Fprintf(&b, "... and %d more\n", len(r.Problems)-i)
				break
			}
			b.WriteString(p.String() + "\n")
		}
		for _, failure := range r.Failures {
			b.WriteString(failure + "\n")
		}
		return write(w, b.String())
	},
}

// write writes a report at once, so that none of it stands alone.
func write(w io.Writer, text string) error {
	if text == "" {
		return nil
	}
	_, err := io.WriteString(w, text)
	return err
}
