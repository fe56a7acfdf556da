package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trainyard/trainyard/bundles"
	"github.com/trainyard/trainyard/generator"
)

type generateFlags struct {
	input       inputFlags
	format      string
	output      string
	only        []string
	remove      []string
	check       bool
	force       bool
	keepUnknown bool
}

func newGenerate(s streams, r *reporter) *cobra.Command {
	var f generateFlags
	cmd := &cobra.Command{
		Use:   "generate",
		Short: "Generate the objects of a platform",
		Long: `Generate the objects of a platform, and print them or write them as a bundle.

Formats:
` + bundleFormats().help() + `

With -o DIR, the folder becomes exactly the bundle: files of an earlier bundle that are no longer
generated are deleted, and a folder that is up to date is not changed. Each environment of the
document has its own folder, DIR/ENVIRONMENT. With --env, that environment is written to DIR itself.

Standard error lists what the objects need in the cluster, such as namespaces. With -o DIR, the
command prints the list only if a folder changes.

The command refuses with exit code 6
  - to delete files that are not generated (--keep-unknown keeps them),
  - to overwrite generated files that somebody edited (--force overwrites them),
  - to drop a runtime, tenant or queue that the folder contains (--remove drops it),
  - to change a field of a runtime or a queue that the API server treats as immutable.

Reports:
` + reportFormats().help() + `
With -o DIR, formats other than text go to standard output. Without -o, the objects go to
standard output, and the report goes to standard error without other messages.`,
		Example: `  # See the objects of a platform
  trainyard generate --example minimal

  # Apply them
  trainyard generate -f platform.yaml --env prod | kubectl apply --server-side -f -

  # Keep a kustomization of each environment in Git, for Argo CD
  trainyard generate -f platform.yaml --format kustomize -o deploy/platform

  # In CI: fail with exit code 4 if the folder is not up to date
  trainyard generate -f platform.yaml --format kustomize -o deploy/platform --check

  # Remove a runtime that is no longer in the document
  trainyard generate -f platform.yaml --format kustomize -o deploy/platform --remove runtime/mpi-old`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), s) },
	}
	f.input.add(cmd, r, func() bool { return f.output != "-" })
	f.add(cmd)
	return cmd
}

func (f *generateFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	bundleFormats().addFlag(cmd, &f.format, "format", "", "plain", "format of the bundle")
	flags.StringVarP(&f.output, "output", "o", "-", `folder to write; "-" is standard output`)
	flags.StringArrayVar(&f.only, "only", nil, "generate only this tenant/NAME or runtime/NAME (repeatable)")
	flags.StringArrayVar(&f.remove, "remove", nil, "remove this tenant/NAME, runtime/NAME, queue/NAME or queue/TENANT/NAME from the folder (repeatable)")
	flags.BoolVar(&f.check, "check", false, "write nothing; list differences, and exit with code 4 if the folder is not up to date")
	flags.BoolVar(&f.force, "force", false, "overwrite generated files that somebody edited")
	flags.BoolVar(&f.keepUnknown, "keep-unknown", false, "keep files in the folder that are not generated")
	_ = cmd.MarkFlagDirname("output")
	complete(cmd, "only", cobra.FixedCompletions([]string{"tenant/", "runtime/"}, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace))
	complete(cmd, "remove", f.completeRemove)
}

func (f *generateFlags) run(ctx context.Context, s streams) error {
	format, _ := bundles.Named(f.format)
	streamer, canStream := format.(bundles.Streamer)
	if err := f.validate(canStream); err != nil {
		return err
	}
	platforms, err := f.input.generateWithNotes(ctx, s.in)
	if err != nil {
		return err
	}
	if platforms, err = selectComponents(platforms, f.only); err != nil {
		return err
	}
	switch {
	case f.output != "-":
		return f.write(ctx, s, format, platforms)
	case f.input.environment == "" && platforms[0].Environment != "":
		return usageErrorf("the document has environments: name one with --env (one of %s), or write all of them with -o DIR", strings.Join(environments(platforms), ", "))
	}
	if err := streamer.Stream(ctx, s.out, platforms[0].Objects); err != nil {
		return err
	}
	f.input.report.addNeeds(platforms[:1])
	return nil
}

// validate refuses flags that contradict each other. "trainyard generate" calls validate before it
// reads any file.
func (f *generateFlags) validate(canStream bool) error {
	switch {
	case f.output == "":
		return usageErrorf(`--output "": want a folder, or "-" for standard output`)
	case f.output == "-" && !canStream:
		return usageErrorf("--format %s is written as a folder: want -o DIR", f.format)
	case f.output == "-" && (f.check || f.force || f.keepUnknown || len(f.remove) > 0):
		return usageErrorf("--check, --force, --keep-unknown and --remove apply to a folder: want -o DIR")
	}
	if err := checkComponents("--only", f.only); err != nil {
		return err
	}
	return checkComponents("--remove", f.remove)
}

func environments(platforms []generator.Platform) []string {
	var names []string
	for _, p := range platforms {
		names = append(names, p.Environment)
	}
	return names
}

func bundleFormats() choices {
	return choicesOf(bundles.Formats(), func(f bundles.Format) choice { return choice{f.Name(), f.Doc()} })
}
