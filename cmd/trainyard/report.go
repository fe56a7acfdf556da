package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/trainyard/trainyard/cmd/internal/report"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/generator/problem"
)

// reporter writes the report of a run. A text report is written during the run. A report in a format other
// than text is written once at the end, even if the run fails.
type reporter struct {
	streams
	format   string      // the name of a format in report.Formats
	onStdout func() bool // whether the report goes to standard output; nil means never
	started  bool        // whether a command has started; help texts and invalid command lines have no report
	notes    problem.List
	needs    []report.Need
}

func (r *reporter) add(cmd *cobra.Command, onStdout func() bool) {
	reportFormats().addFlag(cmd, &r.format, "report", "", report.Text.Name, "format of problems and notes")
	cmd.PreRun = func(*cobra.Command, []string) { r.onStdout, r.started = onStdout, true }
}

// isText reports whether the report is text for people. Programs read the other formats, so a
// report in these formats must not be mixed with other messages.
func (r *reporter) isText() bool { return r.format == report.Text.Name }

// addNotes adds notes to the report. If the format is text, addNotes also prints the notes immediately.
func (r *reporter) addNotes(notes problem.List) {
	r.notes = append(r.notes, notes...)
	if r.isText() {
		_ = report.Text.Write(r.err, report.Report{Notes: notes}) // if writing to standard error fails, the message is lost
	}
}

// addNeeds adds the prerequisites of all platforms to the report. If the format is text, addNeeds also prints the
// prerequisites immediately.
func (r *reporter) addNeeds(platforms []generator.Platform) {
	r.needs = combineNeeds(platforms)
	if r.isText() {
		_ = report.Text.Write(r.err, report.Report{Needs: r.needs}) // if writing to standard error fails, the message is lost
	}
}

// finish reports how a command such as "trainyard generate" ended, and returns the exit code. A text report goes to
// standard error. A report in another format is for programs, so finish prints no other messages. Such a report goes to
// standard output if the function onStdout is set and returns true, and to standard error otherwise. If such a report
// cannot be written, finish writes a text report to standard error.
func (r *reporter) finish(command string, err error) int {
	result := interpretError(command, err)
	format, known := report.Named(r.format)
	if !known || !r.started || r.isText() {
		_ = report.Text.Write(r.err, result)
		return result.ExitCode
	}
	w := r.err
	if r.onStdout != nil && r.onStdout() {
		w = r.out
	}
	result.Version, result.Notes, result.Needs = currentVersion().Version, r.notes, r.needs
	if e := format.Write(w, result); e != nil {
		result.Failures = append(result.Failures, fmt.Sprintf("trainyard: writing the report: %v", e))
		_ = report.Text.Write(r.err, result)
		return exitInternal
	}
	return result.ExitCode
}

func reportFormats() choices {
	return choicesOf(report.Formats(), func(f report.Format) choice { return choice{f.Name, f.Doc} })
}

// combineNotes returns the notes of all environments. Notes with the same cause are combined into one note.
func combineNotes(platforms []generator.Platform) problem.List {
	var all problem.List
	for _, p := range platforms {
		for _, note := range p.Notes {
			if !slices.Contains(all, note) {
				all = append(all, note)
			}
		}
	}
	_ = all.Err() // sorts the list
	return all.Fold()
}

// combineNeeds returns the prerequisites of all environments, and merges equal prerequisites. If a prerequisite
// applies to all environments, its list of environments is empty.
func combineNeeds(platforms []generator.Platform) []report.Need {
	var all []report.Need
	for _, p := range platforms {
		for _, need := range p.Prerequisites() {
			i := slices.IndexFunc(all, func(n report.Need) bool { return n.Need == need.Need && n.Reason == need.Reason })
			if i < 0 {
				i, all = len(all), append(all, report.Need{Need: need.Need, Reason: need.Reason, Environments: []string{}})
			}
			all[i].Environments = append(all[i].Environments, p.Environment)
		}
	}
	for i := range all {
		if len(all[i].Environments) == len(platforms) {
			all[i].Environments = []string{}
		}
	}
	return all
}
