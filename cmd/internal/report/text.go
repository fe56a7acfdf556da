package report

import (
	"fmt"
	"io"
	"strings"
)

// maxProblems is the maximum number of problems in a text report. More problems would not help users, because users fix
// only some problems before they run the command again. In addition, later problems can disappear when users fix the
// first problems.
const maxProblems = 100

// Text is the format for people. A text report contains one line for each element in the fields Notes, Needs and
// Failures of a Report. It also contains one line for each of the first 100 problems. The list of notes and the list of
// needs can be written as separate reports, before the run ends.
var Text = Format{
	Name: "text",
	Doc:  "for people: one line for each problem, and at most 100 problems, on standard error",
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
		for _, need := range r.Needs {
			b.WriteString("needs: " + need.Need.String() + ": " + need.Reason.String())
			if len(need.Environments) > 0 {
				b.WriteString(" (in environment " + strings.Join(need.Environments, ", ") + ")")
			}
			b.WriteString("\n")
		}
		for _, failure := range r.Failures {
			b.WriteString(failure + "\n")
		}
		return write(w, b.String())
	},
}

// write passes the whole report to the writer in one call, so that the report is
// either complete or absent.
func write(w io.Writer, text string) error {
	if text == "" {
		return nil
	}
	_, err := io.WriteString(w, text)
	return err
}
