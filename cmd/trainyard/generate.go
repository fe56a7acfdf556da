package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trainyard/trainyard/bundles"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/generator/problem"
)

// generateFlags are what generate can be told.
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
		Long: `Generate the objects of a platform and write them as a bundle.

Formats:
` + formatHelp() + `
With -o DIR the folder becomes exactly the bundle: files of an earlier bundle that are no
longer generated go, and a folder that is up to date is not touched. A document with
environments gets one folder each, DIR/ENVIRONMENT; with --env, that one is written into DIR.

The command refuses (exit code 6) to lose files that somebody added (--keep-unknown keeps them),
or edited (--force overwrites them); to drop a runtime or a tenant that the folder has (unless
--remove names it); and to change a part of a runtime that the API server would not let change.

Reports:
` + reportHelp() + `
All but text go to standard output; without -o DIR, where the objects go there, they are all that
is on standard error.`,
		Example: `  # Look at what a platform becomes
  trainyard generate --example minimal

  # Apply it
  trainyard generate -f platform.yaml | kubectl apply --server-side -f -

  # Keep a kustomization of each environment in Git, for Argo CD
  trainyard generate -f platform.yaml --format kustomize -o deploy/platform

  # In CI: fail (exit code 4) if somebody forgot to
  trainyard generate -f platform.yaml --format kustomize -o deploy/platform --check

  # Take a runtime away
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
	flags.StringVar(&f.format, "format", "plain", "kind of bundle: "+strings.Join(formatNames(), ", "))
	flags.StringVarP(&f.output, "output", "o", "-", `folder to write; "-" is standard output`)
	flags.StringArrayVar(&f.only, "only", nil, "generate this part only: tenant/NAME or runtime/NAME (may be repeated)")
	flags.StringArrayVar(&f.remove, "remove", nil, "let go of this part of the folder: tenant/NAME or runtime/NAME (may be repeated)")
	flags.BoolVar(&f.check, "check", false, "write nothing; list differences and exit with code 4 if the folder is not up to date")
	flags.BoolVar(&f.force, "force", false, "overwrite generated files that somebody edited")
	flags.BoolVar(&f.keepUnknown, "keep-unknown", false, "keep what somebody added to the folder, instead of refusing it")
	_ = cmd.MarkFlagDirname("output")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(formatNames(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("only", cobra.FixedCompletions([]string{"tenant/", "runtime/"}, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace))
	_ = cmd.RegisterFlagCompletionFunc("remove", f.removable)
}

func (f *generateFlags) run(ctx context.Context, s streams) error {
	if err := f.validate(); err != nil {
		return err
	}
	platforms, err := f.input.generate(ctx, s.in)
	f.input.report.note(notesOf(platforms))
	if err != nil {
		return err
	}
	if platforms, err = selectParts(platforms, f.only); err != nil {
		return err
	}
	if f.output == "-" {
		return f.stream(ctx, s, platforms)
	}
	return f.write(ctx, s, platforms)
}

// validate refuses flags that do not go together, before anything is read.
func (f *generateFlags) validate() error {
	if err := oneOf("--format", f.format, formatNames()); err != nil {
		return err
	}
	format, _ := bundles.Named(f.format)
	_, canStream := format.(bundles.Streamer)
	switch {
	case f.output == "":
		return &usageError{errors.New("-o is empty: want a folder, or - for standard output")}
	case f.output == "-" && !canStream:
		return &usageError{fmt.Errorf("format %s is a folder: want -o DIR", f.format)}
	case f.output == "-" && (f.check || f.force || f.keepUnknown || len(f.remove) > 0):
		return &usageError{errors.New("--check, --force, --keep-unknown and --remove are about a folder: want -o DIR")}
	}
	for _, part := range append(slices.Clone(f.only), f.remove...) {
		if err := checkPart(part); err != nil {
			return err
		}
	}
	return nil
}

// stream writes the objects of one environment to standard output.
func (f *generateFlags) stream(ctx context.Context, s streams, platforms []generator.Platform) error {
	if f.input.environment == "" && platforms[0].Environment != "" {
		return &usageError{fmt.Errorf("the document has environments: name one with --env (%s), or write all with -o DIR", strings.Join(environments(platforms), ", "))}
	}
	format, _ := bundles.Named(f.format)
	return format.(bundles.Streamer).Stream(ctx, s.out, platforms[0].Objects) //nolint:forcetypeassert // validate has seen to it
}

func environments(platforms []generator.Platform) []string {
	var names []string
	for _, p := range platforms {
		names = append(names, p.Environment)
	}
	return names
}

func formatNames() []string {
	var names []string
	for _, f := range bundles.Formats() {
		names = append(names, f.Name())
	}
	return names
}

func formatHelp() string {
	var b strings.Builder
	for _, f := range bundles.Formats() {
		fmt.Fprintf(&b, "  %-11s %s\n", f.Name(), f.Doc())
	}
	return b.String()
}

// oneOf refuses a flag's value that is not allowed.
func oneOf(flag, value string, allowed []string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	hint := "want one of " + strings.Join(allowed, ", ")
	if meant := problem.Nearest(value, allowed); meant != "" {
		hint = fmt.Sprintf("did you mean %s?", meant)
	}
	return &usageError{fmt.Errorf("%s %q: %s", flag, value, hint)}
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
