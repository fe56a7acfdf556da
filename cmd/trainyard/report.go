package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/generator/problem"
	"github.com/trainyard/trainyard/reports"
)

// reporter tells what a command finds: as text while it goes, and in any other
// format once, when it has ended, however it has ended.
type reporter struct {
	streams
	format  string      // a name of reports.Formats
	onOut   func() bool // whether standard output is free for a report; nil means that it is not
	started bool        // whether a command has begun: its help has no report, nor has a command line that cannot be read
	notes   problem.List
}

// add gives a command the flag --report.
func (r *reporter) add(cmd *cobra.Command, onOut func() bool) {
	cmd.Flags().StringVar(&r.format, "report", reports.Text.Name, "how to tell problems and notes: "+strings.Join(reportNames(), ", "))
	var completions []cobra.Completion
	for _, f := range reports.Formats() {
		completions = append(completions, cobra.CompletionWithDesc(f.Name, f.Doc))
	}
	_ = cmd.RegisterFlagCompletionFunc("report", cobra.FixedCompletions(completions, cobra.ShellCompDirectiveNoFileComp))
	cmd.PreRunE = func(*cobra.Command, []string) error {
		r.onOut, r.started = onOut, true
		return oneOf("--report", r.format, reportNames())
	}
}

// words tells whether people read the report, so that more may be said around it.
func (r *reporter) words() bool { return r.format == reports.Text.Name }

// note keeps notes for the report, or tells them now.
func (r *reporter) note(notes problem.List) {
	r.notes = append(r.notes, notes...)
	if r.words() {
		_ = reports.Text.Write(r.err, reports.Report{Notes: notes}) // words on standard error are lost without harm
	}
}

// end tells what a command has ended with, and returns its exit code. The report
// is on standard output or, where that holds what was asked for, all that is on
// standard error.
func (r *reporter) end(err error) int {
	report := judge(err)
	format, known := reports.Named(r.format)
	if !known || !r.started || r.words() {
		_ = reports.Text.Write(r.err, report)
		return report.ExitCode
	}
	w := r.err
	if r.onOut != nil && r.onOut() {
		w = r.out
	}
	report.Version, report.Notes = currentVersion().Version, r.notes
	if e := format.Write(w, report); e != nil {
		report.Failures = append(report.Failures, fmt.Sprintf("trainyard: writing the report: %v", e))
		_ = reports.Text.Write(r.err, report)
		return exitInternal
	}
	return report.ExitCode
}

func reportNames() []string {
	var names []string
	for _, f := range reports.Formats() {
		names = append(names, f.Name)
	}
	return names
}

// reportHelp says what each format is for.
func reportHelp() string {
	var b strings.Builder
	for _, f := range reports.Formats() {
		fmt.Fprintf(&b, "  %-10s %s\n", f.Name, f.Doc)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// notesOf are the notes of all environments, each once, and of a cause that many have no more than one.
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
	return all.Fold()
}
