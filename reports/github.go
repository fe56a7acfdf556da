package reports

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/trainyard/trainyard/generator/problem"
)

// GitHub Actions makes an annotation of each line. The message repeats the place,
// which the log of the step would not show.
// Source: docs.github.com, Workflow commands for GitHub Actions.
var github = Format{
	Name: "github",
	Doc:  "workflow commands, which GitHub Actions shows beside the lines of a change",
	Write: func(w io.Writer, r Report) error {
		var b strings.Builder
		for _, p := range r.Problems {
			b.WriteString(annotation("error", p))
		}
		for _, note := range r.Notes {
			b.WriteString(annotation("notice", note))
		}
		for _, failure := range r.Failures {
			fmt.Fprintf(&b, "::error title=trainyard::%s\n", inMessage.Replace(failure))
		}
		return write(w, b.String())
	},
}

// What would end a workflow command, or a property in it, is written as %XX.
// Source: escapeData and escapeProperty of actions/toolkit, packages/core/src/command.ts.
var (
	inMessage  = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	inProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

func annotation(command string, p problem.Problem) string {
	var properties []string
	if p.File != "" && p.File != standardInput {
		properties = append(properties, "file="+inProperty.Replace(filepath.ToSlash(located(p.File))), fmt.Sprintf("line=%d", p.Line), fmt.Sprintf("col=%d", p.Column))
	}
	properties = append(properties, "title="+inProperty.Replace("trainyard "+p.Rule.Name))
	return fmt.Sprintf("::%s %s::%s\n", command, strings.Join(properties, ","), inMessage.Replace(p.String()))
}
