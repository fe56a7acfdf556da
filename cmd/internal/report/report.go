// Package report writes the problems and notes that a command found. The package has one format for each kind of
// reader: people, programs, code scanners and GitHub Actions.
package report

import (
	"io"
	"os"
	"path/filepath"

	"github.com/trainyard/trainyard/generator/problem"
)

// Report is the result of one run: the exit code, and everything that the run found.
type Report struct {
	Version  string       // of trainyard
	ExitCode int          // of the run
	Problems problem.List // mistakes in the input
	Notes    problem.List // remarks about valid input with an effect that the author may not expect
	Needs    []Need       // parts of the cluster that the generated objects need
	Failures []string     // other causes that ended the run, such as a missing file
}

// Need is a part of the cluster, such as a namespace, that the generated objects require. trainyard does not
// generate this part.
type Need struct {
	Need         problem.Phrase `json:"need"`         // such as: namespace team-a
	Reason       problem.Phrase `json:"reason"`       // the objects that need it, or the task of the admin
	Environments []string       `json:"environments"` // empty if all environments need it
}

// Format is an output format of reports. Each format is meant for one kind of reader: for people, or for programs such
// as code scanners.
type Format struct {
	Name  string // the value of --report
	Doc   string // the readers for whom the format is meant, in one line
	Write func(io.Writer, Report) error
}

// standardInput is the file name that reports show for problems in standard input.
const standardInput = "<stdin>"

// relativePath returns the path relative to the working directory, or an absolute path if the file is outside this
// directory.
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

// Formats lists all formats, in the order in which help texts show them.
func Formats() []Format { return []Format{Text, asJSON, sarif, github} }

// Named returns the format with the given name. The result "ok" is false if there is no such format.
func Named(name string) (format Format, ok bool) {
	for _, f := range Formats() {
		if f.Name == name {
			return f, true
		}
	}
	return Format{}, false
}
