package doctest

import (
	"regexp"
	"strings"
	"testing"
)

// Step is a file to create, or a command to run.
type Step struct {
	File, Command string

	// Shell is true for a fence marked "shell". If Shell is true, Command is the whole text of the fence, which can have
	// several lines.
	Shell bool

	// Lines contains the lines of the file, or the expected output of the command.
	Lines []string
}

var fence = regexp.MustCompile("^```([a-z]*)(?: file=(\\S+))?$")

// Parse returns the steps of a Markdown file.
func Parse(t testing.TB, text string) []Step {
	t.Helper()
	var p parser
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		m := fence.FindStringSubmatch(line)
		switch {
		case strings.HasPrefix(line, "```") && m == nil:
			t.Fatalf("cannot read the fence %s", line)
		case m != nil && p.kind != "":
			p.kind, p.file = "", ""
		case m != nil && m[1] == "":
			t.Fatal("a fence has no language")
		case m != nil:
			p.beginFence(m[1], m[2])
		default:
			p.readLine(line)
		}
	}
	return p.steps
}

// parser holds the current fence and the steps that were parsed so far.
type parser struct {
	kind, file string
	steps      []Step
}

func (p *parser) beginFence(kind, file string) {
	p.kind, p.file = kind, file
	switch {
	case file != "":
		p.steps = append(p.steps, Step{File: file})
	case kind == "shell":
		p.steps = append(p.steps, Step{Shell: true})
	}
}

// readLine processes a line that neither begins nor ends a fence.
func (p *parser) readLine(line string) {
	switch {
	case p.file != "", p.kind == "console" && !strings.HasPrefix(line, "$ "):
		last := &p.steps[len(p.steps)-1]
		last.Lines = append(last.Lines, line)
	case p.kind == "shell":
		p.steps[len(p.steps)-1].Command += line + "\n"
	case p.kind == "console":
		p.steps = append(p.steps, Step{Command: strings.TrimPrefix(line, "$ ")})
	}
}
