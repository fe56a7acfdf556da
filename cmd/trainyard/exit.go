package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/bundles"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/generator/problem"
)

// Exit codes, the same for every command and for ever.
const (
	exitOK       = 0
	exitInternal = 1
	exitUsage    = 2
	exitInvalid  = 3
	exitDiffers  = 4
	exitRefused  = 6
)

// exitCodes documents them all; those that no command returns yet are reserved.
var exitCodes = []struct {
	code    int
	meaning string
}{
	{exitOK, "done"},
	{exitInternal, "internal error, input or output failed, not found"},
	{exitUsage, "wrong usage, such as an unknown flag or a missing file"},
	{exitInvalid, "invalid input: each problem is on a line of its own"},
	{exitDiffers, "differences found"},
	{5, "denied"},
	{exitRefused, "refused, because something would be lost"},
	{7, "a job or a runtime test failed"},
	{8, "timed out"},
}

func exitCodeHelp() string {
	var b strings.Builder
	for _, e := range exitCodes {
		fmt.Fprintf(&b, "  %d  %s\n", e.code, e.meaning)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// usageError is a command line that cannot be understood or carried out as written.
type usageError struct{ error }

// Unwrap returns the cause.
func (u *usageError) Unwrap() error { return u.error }

// differError says that a folder is not what would be generated.
type differError struct{ differences []string }

// Error gives one difference per line.
func (d *differError) Error() string { return strings.Join(d.differences, "\n") }

// reportedError is an error that has already been printed.
type reportedError struct{ error }

// Unwrap returns the cause.
func (r *reportedError) Unwrap() error { return r.error }

// report prints an error, unless that is done, and returns its exit code.
func report(w io.Writer, err error) int {
	var (
		problems problem.List
		refused  *bundles.RefusedError
		loss     *bundles.LossError
		exists   *existsError
		unknown  *generator.EnvironmentError
		usage    *usageError
		bug      *generator.BugError
		reported *reportedError
		differ   *differError
	)
	code, text := exitInternal, "trainyard: "+err.Error()
	switch {
	case errors.As(err, &problems):
		code, text = exitInvalid, problems.Error()
	case errors.As(err, &refused):
		code, text = exitRefused, fmt.Sprintf("trainyard: %v; move what is not ours away, or take edits over into the document and use --force", refused)
	case errors.As(err, &loss):
		code, text = exitRefused, loss.Error()
	case errors.As(err, &exists):
		code = exitRefused
	case errors.As(err, &usage), errors.As(err, &unknown):
		code, text = exitUsage, fmt.Sprintf("trainyard: %v\nRun \"trainyard --help\" for usage.", err)
	case errors.As(err, &differ):
		code, text = exitDiffers, differ.Error()
	case errors.As(err, &bug):
		text = fmt.Sprintf("trainyard: %v\nThis is a bug in trainyard, not in your document: please report it.", bug)
	}
	if !errors.As(err, &reported) {
		fmt.Fprintln(w, text)
	}
	return code
}

// reports are the values of --report.
var reports = []string{"text", "json"}

// reportJSON prints problems and notes as JSON; an error of another kind is left to report.
func reportJSON(w io.Writer, err error, notes problem.List) error {
	problems := problem.List{}
	if err != nil && !errors.As(err, &problems) {
		return err
	}
	if notes == nil {
		notes = problem.List{}
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	document := struct {
		Problems problem.List `json:"problems"`
		Notes    problem.List `json:"notes"`
	}{problems, notes}
	if e := encoder.Encode(document); e != nil {
		return e
	}
	if err == nil {
		return nil
	}
	return &reportedError{err}
}

// notesOf are the notes of all environments, each once.
func notesOf(platforms []generator.Platform) problem.List {
	var all problem.List
	for _, p := range platforms {
		for _, note := range p.Notes {
			if !slices.Contains(all, note) {
				all = append(all, note)
			}
		}
	}
	_ = all.Err() // sorts them
	return all
}

func printNotes(w io.Writer, notes problem.List) {
	for _, note := range notes {
		fmt.Fprintf(w, "note: %s\n", note)
	}
}
