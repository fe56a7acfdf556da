package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trainyard/trainyard/cmd/internal/report"
	"github.com/trainyard/trainyard/generator/problem"
	"github.com/trainyard/trainyard/generator/vet/trainjob"
)

type trainJobFlags struct{ tenant string }

func (j *trainJobFlags) add(cmd *cobra.Command, f *inputFlags) {
	cmd.Flags().StringVar(&j.tenant, "tenant", "", "tenant for which TrainJobs are checked; without this flag, the namespace of each TrainJob names the tenant")
	complete(cmd, "tenant", f.completeTenant)
	cmd.ValidArgsFunction = cobra.FixedCompletions([]string{"yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt)
}

// checkArgs returns a function that checks the arguments of the command. The arguments are files of TrainJobs. For
// example, the returned function refuses the arguments if the command line names no platform document.
func (j *trainJobFlags) checkArgs(f *inputFlags) cobra.PositionalArgs {
	return func(cmd *cobra.Command, files []string) error {
		switch given := len(f.files) > 0 || f.example != ""; {
		case len(files) > 0 && !given:
			return noArgs(cmd, files)
		case len(files) == 0 && given && cmd.Flags().Changed("tenant"):
			return usageErrorf("--tenant wants TrainJobs: name a file of TrainJobs, as in: trainyard vet job.yaml -f platform.yaml")
		case len(files) > 0 && slices.ContainsFunc([]string{"traps", "report-schema", "fit"}, cmd.Flags().Changed):
			return usageErrorf("--traps, --report-schema and --fit do not apply to TrainJobs: leave out either the flag or the files")
		case slices.Contains(files, "-") && slices.Contains(f.files, "-"):
			return usageErrorf(`"-" is standard input: read either the TrainJobs or the document from it`)
		}
		return nil
	}
}

func (f *inputFlags) completeTenant(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	var tenants []string
	platforms, _ := f.generate(cmd.Context(), strings.NewReader("")) // if the document is invalid, completion suggests nothing
	for _, component := range componentsOf(platforms) {
		if name, ok := strings.CutPrefix(component, "tenant/"); ok {
			tenants = append(tenants, name)
		}
	}
	return tenants, cobra.ShellCompDirectiveNoFileComp
}

func (j *trainJobFlags) vet(ctx context.Context, s streams, f inputFlags, files []string) error {
	request, err := f.request(s.in)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(request.Layers, isRuntimes) {
		return inputErrorf("a file of the flag -f contains training runtimes: want the platform document that contains the rules for TrainJobs")
	}
	platforms, err := trainjob.Platforms(ctx, newPipeline(), request)
	if err != nil {
		return err
	}
	err = j.vetFiles(s, f, files, platforms)
	if unknown := (*trainjob.TenantError)(nil); errors.As(err, &unknown) {
		return usageErrorf("%w", err)
	}
	return err
}

// vetFiles checks all files before it reports any problem.
func (j *trainJobFlags) vetFiles(s streams, f inputFlags, files []string, platforms []trainjob.Platform) error {
	var wrong, denied, unenforced problem.List
	var names []string
	total := 0
	for _, name := range files {
		file, err := readFile(name, s.in)
		if err != nil {
			return err
		}
		result, err := trainjob.Vet(file.Name, file.Text, j.tenant, platforms)
		var unreadable problem.List
		if err != nil && !errors.As(err, &unreadable) {
			return err
		}
		if err == nil && result.TrainJobs == 0 {
			return inputErrorf("%s contains no TrainJob of trainer.kubeflow.org", file.Name)
		}
		names, total = append(names, file.Name), total+result.TrainJobs
		wrong, denied = slices.Concat(wrong, unreadable, result.Invalid), append(denied, result.Denied...)
		unenforced = append(unenforced, result.Unenforced...)
	}
	f.report.addNotes(unenforced)
	switch {
	case len(wrong) > 0:
		return append(wrong, denied...).Err()
	case len(denied) > 0:
		return &exitError{error: denied.Err(), result: report.Report{ExitCode: exitDenied, Problems: denied}}
	case f.report.isText():
		suffix := ""
		if trainjob.AnyUnenforced(platforms) {
			suffix = "; the cluster does not check TrainJobs, because spec.admission.enforce is none"
		}
		fmt.Fprintf(s.err, "%s: no problems in %s%s\n", strings.Join(names, " + "), count(total, "TrainJob"), suffix)
	}
	return nil
}
