// Package report writes the report of a run for its reader: a person, a program, a code scanner or GitHub Actions. Each
// format is one file in this package. All formats contain the same problems and notes.
package report

import (
	"io"
	"os"
	"path/filepath"

	"github.com/trainyard/trainyard/generator/problem"
)

// Report is the result of one run.
type Report struct {
	Version  string       // of trainyard
	ExitCode int          // of the run
	Problems problem.List // mistakes in the input
	Notes    problem.List // remarks about valid input that can surprise
	Failures []string     // other causes that ended the run, such as a missing file
}

// Format is a format of reports.
type Format struct {
	Name  string // the value of --report
	Doc   string // its readers, in one line
	Write func(io.Writer, Report) error
}

// standardInput is the file name of problems in standard input.
const standardInput = "<stdin>"

// relativePath returns a file relative to the working directory, as tools in the repository name it. It returns the
// absolute path of a file outside the working directory.
func relativePath(file string) string {
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

// Formats lists all formats, in the order of help texts.
func Formats() []Format { return []Format{Text, asJSON, sarif, github} }

// Named returns the format with a name; ok is false if there is none.
func Named(name string) (format Format, ok bool) {
	for _, f := range Formats() {
		if f.Name == name {
			return f, true
		}
	}
	return Format{}, false
}
