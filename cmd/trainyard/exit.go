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
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/reports"
)

// Exit codes, the same for every command and for ever.
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
	{exitDenied, "denied"},
	{exitRefused, "refused, because something would be lost"},
	{exitFailed, "a job, a runtime test or a check of the host failed"},
	{exitTimedOut, "timed out"},
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

// failedError says that a job, a runtime test or a check of the host failed, or that its time was over.
type failedError struct {
	what     string
	timedOut bool
}

// Error says what failed.
func (f *failedError) Error() string { return f.what }

func (f *failedError) code() int {
	if f.timedOut {
		return exitTimedOut
	}
	return exitFailed
}

// occupiedError says that a folder cannot be an image layout of ours.
type occupiedError struct{ by *bundles.RefusedError }

// Error names what is there.
func (o *occupiedError) Error() string {
	return fmt.Sprintf("%v: publish into a folder of its own", o.by)
}

// judge says what a run comes to that has ended with an error, or with none.
func judge(err error) reports.Report {
	var (
		refused *bundles.RefusedError
		loss    *bundles.LossError
		exists  *existsError
		unknown *generator.EnvironmentError
		usage   *usageError
		bug     *generator.BugError
		differ  *differError
		failed  *failedError
		choice  *jobs.AmbiguousRuntimeError
		unfit   *trial.UnfitError
		full    *occupiedError
		denied  *registry.DeniedError
		taken   *registry.TakenError
	)
	ended := func(code int, failures ...string) reports.Report {
		return reports.Report{ExitCode: code, Failures: failures}
	}
	if found := problemsOf(err); found.ExitCode != exitOK {
		return found
	}
	switch {
	case err == nil:
		return ended(exitOK)
	case errors.As(err, &refused):
		return ended(exitRefused, fmt.Sprintf("trainyard: %v; what is not ours can be moved away or kept (--keep-unknown), edits be taken over into the document and overwritten (--force)", refused))
	case errors.As(err, &loss):
		return ended(exitRefused, loss.Losses...)
	case errors.As(err, &exists), errors.As(err, &full), errors.As(err, &taken):
		return ended(exitRefused, fmt.Sprintf("trainyard: %v", err))
	case errors.As(err, &usage), errors.As(err, &unknown), errors.As(err, &choice), errors.As(err, &unfit):
		return ended(exitUsage, fmt.Sprintf("trainyard: %v\nRun \"trainyard --help\" for usage.", err))
	case errors.As(err, &differ):
		return ended(exitDiffers, differ.differences...)
	case errors.As(err, &failed):
		return ended(failed.code(), fmt.Sprintf("trainyard: %v", failed))
	case jobs.Denied(err), errors.As(err, &denied):
		return ended(exitDenied, fmt.Sprintf("trainyard: %v", err))
	case errors.Is(err, context.DeadlineExceeded):
		return ended(exitTimedOut, fmt.Sprintf("trainyard: %v", err))
	case errors.As(err, &bug):
		return ended(exitInternal, fmt.Sprintf("trainyard: %v\nThis is a bug in trainyard, not in your document: please report it.", bug))
	}
	return ended(exitInternal, fmt.Sprintf("trainyard: %v", err))
}
