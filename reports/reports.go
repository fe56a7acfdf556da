// Package reports writes what a command found for whoever reads it: a person, a
// program, a code scanner or GitHub Actions. Each has a format, in a file of its
// own here, and all formats say the same.
package reports

import (
	"io"
	"os"
	"path/filepath"

	"github.com/trainyard/trainyard/generator/problem"
)

// Report is what came of one run.
type Report struct {
	Version  string       // of trainyard
	ExitCode int          // what the run ends with
	Problems problem.List // what is wrong with the input
	Notes    problem.List // what works, with a surprise
	Failures []string     // what ended the run beside problems: a file that is missing, a folder that is kept
}

// Format is a way to write reports.
type Format struct {
	Name  string // what --report calls it
	Doc   string // who reads it, in one line
	Write func(io.Writer, Report) error
}

// standardInput is what standard input is called where files are named.
const standardInput = "<stdin>"

// located is a file relative to the working directory, which is how programs that
// know the repository call it, or whole where it lies elsewhere.
func located(file string) string {
	absolute, err := filepath.Abs(file)
	if err != nil {
		return file
	}
	if working, err := os.Getwd(); err == nil {
		if relative, err := filepath.Rel(working, absolute); err == nil && filepath.IsLocal(relative) {
			return relative
		}
	}
	return absolute
}

// Formats lists every format, in the order that help text shows them.
func Formats() []Format { return []Format{Text, asJSON, sarif, github} }

// Named returns the format of a name; ok is false if there is none.
func Named(name string) (format Format, ok bool) {
	for _, f := range Formats() {
		if f.Name == name {
			return f, true
		}
	}
	return Format{}, false
}
