package report

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/trainyard/trainyard/generator/problem"
)

// github writes a report as workflow commands of GitHub Actions. GitHub Actions turns each workflow command into an
// annotation. The file and the line of a problem are properties of the workflow command. The log of GitHub Actions does
// not show these properties, so each message repeats the position of the problem. Source: docs.github.com, Workflow
// commands for GitHub Actions.
var github = Format{
	Name: "github",
	Doc:  "annotations that GitHub Actions shows next to the changed lines",
	Write: func(w io.Writer, r Report) error {
		var b strings.Builder
		for _, p := range r.Problems {
			b.WriteString(annotation("error", p))
		}
		for _, note := range r.Notes {
			b.WriteString(annotation("notice", note))
		}
		for _, failure := range r.Failures {
			fmt.Fprintf(&b, "::error title=trainyard::%s\n", escapeMessage.Replace(failure))
		}
		return write(w, b.String())
	},
}

// Characters that would end a workflow command or one of its properties are written as %XX.
// Source: escapeData and escapeProperty of actions/toolkit, packages/core/src/command.ts.
var (
	escapeMessage  = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	escapeProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

func annotation(command string, p problem.Problem) string {
	var properties []string
	if p.File != "" && p.File != standardInput {
		properties = append(properties, "file="+escapeProperty.Replace(filepath.ToSlash(relativePath(p.File))), fmt.Sprintf("line=%d", p.Line), fmt.Sprintf("col=%d", p.Column))
	}
	properties = append(properties, "title="+escapeProperty.Replace("trainyard "+p.Rule.Name))
	return fmt.Sprintf("::%s %s::%s\n", command, strings.Join(properties, ","), escapeMessage.Replace(p.String()))
}
