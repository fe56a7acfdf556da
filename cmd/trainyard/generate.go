package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/bundles"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/generator/object"
	"github.com/trainyard/trainyard/generator/problem"
)

// generateFlags are what generate can be told.
type generateFlags struct {
	input  inputFlags
	format string
	output string
	force  bool
}

func newGenerate(s streams) *cobra.Command {
	var f generateFlags
	cmd := &cobra.Command{
		Use:   "generate",
		Short: "Generate the objects of a platform",
		Long: `Generate the objects of a platform and write them as a bundle.

Formats:
` + formatHelp() + `
With -o DIR the folder becomes exactly the bundle: files of an earlier bundle that are no
longer generated go, and a folder that is up to date is not touched. Files that somebody
added, or edited (unless --force is given), are never lost: the command refuses (exit code 6).`,
		Example: `  # Look at what a platform becomes
  trainyard generate --example minimal

  # Apply it
  trainyard generate -f platform.yaml | kubectl apply --server-side -f -

  # Keep a kustomization in Git, for Argo CD
  trainyard generate -f platform.yaml --format kustomize -o deploy/platform`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), s) },
	}
	f.input.add(cmd)
	cmd.Flags().StringVar(&f.format, "format", "plain", "kind of bundle: "+strings.Join(formatNames(), ", "))
	cmd.Flags().StringVarP(&f.output, "output", "o", "-", `folder to write; "-" is standard output`)
	cmd.Flags().BoolVar(&f.force, "force", false, "overwrite generated files that somebody edited")
	_ = cmd.MarkFlagDirname("output")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(formatNames(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (f *generateFlags) run(ctx context.Context, s streams) error {
	if err := oneOf("--format", f.format, formatNames()); err != nil {
		return err
	}
	if f.output == "" {
		return &usageError{errors.New("-o is empty: want a folder, or - for standard output")}
	}
	format, _ := bundles.Named(f.format)
	streamer, canStream := format.(bundles.Streamer)
	if f.output == "-" && !canStream {
		return &usageError{fmt.Errorf("format %s is a folder: want -o DIR", f.format)}
	}
	input, err := f.input.read(s.in)
	if err != nil {
		return err
	}
	set, err := generator.New(trainyard.CUE).Generate(ctx, input)
	if err != nil {
		return reportProblems(s.err, f.input.report, err)
	}
	if f.output == "-" {
		return streamer.Stream(ctx, s.out, set)
	}
	return f.write(ctx, s, format, set)
}

func (f *generateFlags) write(ctx context.Context, s streams, format bundles.Format, set object.Set) error {
	tree, err := format.Render(ctx, set)
	if err != nil {
		return fmt.Errorf("rendering as %s: %w", f.format, err)
	}
	changed, err := tree.WriteDir(f.output, f.force)
	if err != nil {
		return err
	}
	verb := "is up to date with"
	if changed {
		verb = "now holds"
	}
	fmt.Fprintf(s.err, "%s %s %s in %s\n", f.output, verb, count(set.Len(), "object"), count(len(tree.Files()), "file"))
	return nil
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
		fmt.Fprintf(&b, "  %-10s %s\n", f.Name(), f.Doc())
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
