package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/generator/problem"
	"github.com/trainyard/trainyard/generator/trainjob"
	"github.com/trainyard/trainyard/reports"
)

// jobFlags choose TrainJobs to check, and whose rules they are held against.
type jobFlags struct {
	tenant string
	cmd    *cobra.Command
}

func (j *jobFlags) add(cmd *cobra.Command, f *inputFlags) {
	j.cmd = cmd
	cmd.Flags().StringVar(&j.tenant, "tenant", "", "the tenant whose rules TrainJobs are held against; by default the namespace that they name")
	_ = cmd.RegisterFlagCompletionFunc("tenant", f.completeTenant)
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return []string{"yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt
	}
}

// args takes files of TrainJobs where there is a platform document as well.
func (j *jobFlags) args(f *inputFlags) cobra.PositionalArgs {
	return func(cmd *cobra.Command, files []string) error {
		switch given := len(f.files) > 0 || f.example != ""; {
		case len(files) > 0 && !given:
			return noArgs(cmd, files)
		case len(files) == 0 && given && cmd.Flags().Changed("tenant"):
			return &usageError{errors.New("--tenant is about TrainJobs: name a file of them, as in: trainyard vet job.yaml -f platform.yaml")}
		case len(files) > 0 && slices.ContainsFunc([]string{"traps", "report-schema", "fit"}, cmd.Flags().Changed):
			return &usageError{errors.New("--traps, --report-schema and --fit are not about TrainJobs: leave out the one or the other")}
		case slices.Contains(files, "-") && slices.Contains(f.files, "-"):
			return &usageError{errors.New(`"-" is standard input, and can be TrainJobs or the document`)}
		}
		return nil
	}
}

// completeTenant offers the tenants of the document that the command line names so far.
func (f *inputFlags) completeTenant(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	var tenants []string
	platforms, err := f.generate(cmd.Context(), strings.NewReader(""))
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for _, p := range platforms {
		for _, part := range p.Parts {
			if name, ok := strings.CutPrefix(part, "tenant/"); ok && !slices.Contains(tenants, name) {
				tenants = append(tenants, name)
			}
		}
	}
	return tenants, cobra.ShellCompDirectiveNoFileComp
}

// deniedError is what rules forbid.
type deniedError struct{ problem.List }

// problemsOf is the report of the problems that a run has ended with, if it has ended with any.
func problemsOf(err error) reports.Report {
	var (
		problems problem.List
		denied   *deniedError
		unlike   *unlikeError
	)
	switch {
	case errors.As(err, &unlike):
		return unlike.report()
	case errors.As(err, &denied):
		return reports.Report{ExitCode: exitDenied, Problems: denied.List}
	case errors.As(err, &problems) && len(problems) > 0:
		return reports.Report{ExitCode: exitInvalid, Problems: problems}
	}
	return reports.Report{}
}

// vetJobs holds files of TrainJobs against the rules of a platform document.
func (j *jobFlags) vet(ctx context.Context, s streams, f inputFlags, files []string) error {
	request, err := f.request(s.in)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(request.Layers, isRuntimes) {
		return &usageError{errors.New("TrainJobs are held against a platform document, and -f names training runtimes")}
	}
	platforms, err := trainjob.Platforms(ctx, newPipeline(), request)
	if err != nil {
		return err
	}
	err = j.judge(s, f, files, platforms)
	if unknown := (*trainjob.TenantError)(nil); errors.As(err, &unknown) {
		return &usageError{err}
	}
	return err
}

// judge reads and judges the files, and tells all that was found in any of them.
func (j *jobFlags) judge(s streams, f inputFlags, files []string, platforms []trainjob.Platform) error {
	var wrong, denied, lenient problem.List
	var names []string
	total := 0
	for _, name := range files {
		file, err := readFile(name, s.in)
		if err != nil {
			return err
		}
		found, err := trainjob.Vet(file.Name, file.Text, j.tenant, platforms)
		var unreadable problem.List
		if err != nil && !errors.As(err, &unreadable) {
			return err
		}
		if err == nil && found.TrainJobs == 0 {
			return &usageError{fmt.Errorf("%s holds no TrainJob of trainer.kubeflow.org", file.Name)}
		}
		names, total = append(names, file.Name), total+found.TrainJobs
		wrong, denied = slices.Concat(wrong, unreadable, found.Wrong), append(denied, found.Denied...)
		lenient = append(lenient, found.Lenient...)
	}
	f.report.note(lenient)
	if len(wrong) > 0 {
		return append(wrong, denied...).Err()
	}
	if len(denied) > 0 {
		_ = denied.Err() // sorts them
		return &deniedError{denied}
	}
	if f.report.words() {
		fmt.Fprintf(s.err, "%s: no problems in %s%s\n", strings.Join(names, " + "), count(total, "TrainJob"), unjudged(platforms))
	}
	return nil
}

// unjudged says where the cluster has no rules.
func unjudged(platforms []trainjob.Platform) string {
	if trainjob.Lenient(platforms) {
		return "; spec.admission.enforce is none, so that nothing in the cluster judges TrainJobs"
	}
	return ""
}

// misplacedJobs are TrainJobs where a platform document should be.
func misplacedJobs(r generator.Request) problem.List {
	var found problem.List
	for _, layer := range r.Layers {
		found = append(found, trainjob.Misplaced(layer.Name, layer.Text)...)
	}
	return found
}
