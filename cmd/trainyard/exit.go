package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/trainyard/trainyard/api/jobs"
	"github.com/trainyard/trainyard/api/jobs/trial"
	"github.com/trainyard/trainyard/bundles"
	"github.com/trainyard/trainyard/bundles/registry"
	"github.com/trainyard/trainyard/cmd/internal/report"
	"github.com/trainyard/trainyard/generator/load"
	"github.com/trainyard/trainyard/generator/problem"
)

// Exit codes. Each exit code has the same meaning in every command, and its meaning never changes.
const (
	exitOK       = 0
	exitInternal = 1
	exitUsage    = 2
	exitInvalid  = 3
	exitDiffers  = 4
	exitDenied   = 5
	exitRefused  = 6
	exitFailed   = 7
	exitTimedOut = 8
)

var exitCodes = []struct {
	code    int
	meaning string
}{
	{exitOK, "success"},
	{exitInternal, "internal error, I/O error, or an object that does not exist"},
	{exitUsage, "wrong usage, such as an unknown flag or a missing file"},
	{exitInvalid, "invalid input; each problem is one line"},
	{exitDiffers, "the folder is not up to date (generate --check)"},
	{exitDenied, "access denied, or a TrainJob breaks a rule of the platform"},
	{exitRefused, "refused, because files, runtimes, tenants or queues would be lost"},
	{exitFailed, "a runtime test, a policy test or a check of this machine failed, or a TrainJobSource is not ready"},
	{exitTimedOut, "timed out"},
}

func exitCodeHelp() string {
	var lines []string
	for _, e := range exitCodes {
		lines = append(lines, fmt.Sprintf("  %d  %s", e.code, e.meaning))
	}
	return strings.Join(lines, "\n")
}

// exitError is an error with the exit code of the run. The field "result" of an exitError can list problems or
// failures. If the result lists no problems and no failures, the error itself is the only failure.
type exitError struct {
	error
	result report.Report
	input  bool // whether the command line is right, and an input such as a file is wrong
}

func (e *exitError) Unwrap() error { return e.error }

func exitErrorf(code int, format string, args ...any) error {
	return &exitError{error: fmt.Errorf(format, args...), result: report.Report{ExitCode: code}}
}

// usageErrorf returns an error about a command line that is invalid or cannot be carried out.
func usageErrorf(format string, args ...any) error { return exitErrorf(exitUsage, format, args...) }

// inputErrorf returns an error about an input that the command line names, such as a missing file. The message does not
// suggest --help, because the command line itself is correct.
func inputErrorf(format string, args ...any) error {
	return &exitError{error: fmt.Errorf(format, args...), result: report.Report{ExitCode: exitUsage}, input: true}
}

// interpretError converts the error of a command to a report with the exit code, the problems and the failures. The error
// can be nil. The argument "command" is a name such as "trainyard generate".
func interpretError(command string, err error) report.Report {
	if err == nil {
		return report.Report{}
	}
	var (
		exit     *exitError
		problems problem.List
		loss     *bundles.RemovalError
	)
	switch {
	case errors.As(err, &exit) && len(exit.result.Problems)+len(exit.result.Failures) > 0:
		return exit.result
	case exit == nil && errors.As(err, &problems) && len(problems) > 0:
		return report.Report{ExitCode: exitInvalid, Problems: problems}
	case errors.As(err, &loss):
		return report.Report{ExitCode: exitRefused, Failures: loss.Problems}
	}
	code, hint := classify(command, err)
	return report.Report{ExitCode: code, Failures: []string{fmt.Sprintf("trainyard: %v%s", err, hint)}}
}

// classify returns the exit code for a single failure of a command. The result "hint" is the next step for the user, or
// empty.
func classify(command string, err error) (code int, hint string) {
	var (
		exit        *exitError
		refused     *bundles.RefusedError
		environment *load.EnvironmentError
		ambiguous   *jobs.AmbiguousRuntimeError
		unfit       *trial.UnsupportedRuntimeError
		denied      *registry.DeniedError
		taken       *registry.TakenError
		bug         *problem.FaultError
	)
	switch {
	case errors.As(err, &exit):
		if exit.result.ExitCode == exitUsage && !exit.input {
			hint = fmt.Sprintf("\nRun \"%s --help\" for usage.", command)
		}
		return exit.result.ExitCode, hint
	case errors.As(err, &refused):
		return exitRefused, "; move unknown files away or keep them with --keep-unknown; copy edits into the document, and overwrite the edited files with --force"
	case errors.As(err, &taken):
		return exitRefused, ""
	case errors.As(err, &environment), errors.As(err, &ambiguous), errors.As(err, &unfit):
		return exitUsage, ""
	case jobs.IsDenied(err), errors.As(err, &denied):
		return exitDenied, ""
	case errors.Is(err, context.DeadlineExceeded):
		return exitTimedOut, ""
	case errors.As(err, &bug):
		return exitInternal, "\nThis is a bug in trainyard, not in your document: please report it."
	}
	return exitInternal, ""
}
