package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/generator/problem"
)

// explainFlags are what explain can be told.
type explainFlags struct {
	input  inputFlags
	origin bool
	output string
}

func newExplain(s streams, r *reporter) *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:   "explain [FIELD]",
		Short: "Say what a field means, or which layer sets it",
		Long: `Say what a field of a platform document means, what it may hold, and which fields are below it.
With --origin, say what the document sets there, and the file and line that say so.`,
		Example: `  # What is there to say about a runtime?
  trainyard explain spec.runtimes.NAME

  # And about one field, of whatever runtime
  trainyard explain spec.runtimes.mpi-openmpi-cpu.preflight.timeout

  # Who set this image?
  trainyard explain --origin spec.runtimes.mpi-openmpi-cpu.image -f platform.yaml -f prod.yaml`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return &usageError{fmt.Errorf("%s takes one field at most, got %d", cmd.CommandPath(), len(args))}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), s, strings.Join(args, "")) },
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return fieldPaths(), cobra.ShellCompDirectiveNoFileComp
		},
	}
	f.input.add(cmd, r, nil)
	cmd.Flags().BoolVar(&f.origin, "origin", false, "say where the document's values come from")
	cmd.Flags().StringVarP(&f.output, "output", "o", "text", "print format: text, json")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (f *explainFlags) run(ctx context.Context, s streams, path string) error {
	if err := oneOf("--output", f.output, []string{"text", "json"}); err != nil {
		return err
	}
	if f.origin {
		return f.origins(ctx, s, path)
	}
	return f.fields(s, path)
}

// field is one of the reference, with the steps of its path.
type field struct {
	generator.Field
	steps []pathStep
}

// reference is all fields that a document may have.
func reference() ([]field, error) {
	described, err := newPipeline().Reference()
	if err != nil {
		return nil, err
	}
	all := make([]field, len(described))
	for i, d := range described {
		if all[i].Field = d; err == nil {
			all[i].steps, err = stepsOf(d.Path)
		}
	}
	return all, err
}

// fields explains a field and lists those right below it.
func (f *explainFlags) fields(s streams, path string) error {
	asked, err := stepsOf(path)
	if err != nil {
		return err
	}
	all, err := reference()
	if err != nil {
		return err
	}
	asked = nearest(all, inAnyEnvironment(asked))
	var itself, inside []field
	for _, one := range all {
		switch depth, ok := one.below(asked); {
		case ok && depth == 0:
			itself = append(itself, one)
		case ok && depth == 1:
			inside = append(inside, one)
		}
	}
	found := slices.Concat(itself, inside)
	if len(found) == 0 {
		return unknownField(path)
	}
	if f.output == "json" {
		return printJSON(s.out, found)
	}
	for _, one := range itself {
		printField(s.out, one.Field)
	}
	for _, one := range inside {
		printBelow(s.out, one.Field)
	}
	return nil
}

// maxShownPath is how much of a path a message repeats, in characters: none of ours is as long.
const maxShownPath = 200

func unknownField(given string) error {
	path := strconv.Quote(problem.Shorten(given, maxShownPath))
	if meant := problem.Nearest(given, fieldPaths()); meant != "" {
		return &usageError{fmt.Errorf("no field is called %s: did you mean %s?", path, meant)}
	}
	return &usageError{fmt.Errorf("no field is called %s: trainyard explain lists those at the top", path)}
}

// inAnyEnvironment says what a path below spec.environments is in the document: an environment may hold what spec may.
func inAnyEnvironment(path []pathStep) []pathStep {
	if len(path) > 2 && path[0].text == "spec" && path[1].text == "environments" && !path[2].bracket {
		return slices.Concat(path[:1], path[3:])
	}
	return path
}

// below tells whether a field is the one that was asked for, or lies below it, and how many
// fields deep. An index need not stand where the reference has one.
func (f field) below(asked []pathStep) (depth int, ok bool) {
	for _, s := range f.steps {
		switch {
		case len(asked) > 0 && s.takes(asked[0]):
			asked = asked[1:]
		case s.anyItem() || len(asked) == 0 && s.anyName():
		case len(asked) == 0:
			depth++
		default:
			return 0, false
		}
	}
	return depth, len(asked) == 0
}

// nearest gives up steps of a path from its end until a field is called so: what is
// left are names that a person chose, such as a variable in env.
func nearest(all []field, path []pathStep) []pathStep {
	for left := len(path); left > 0; left-- {
		for _, one := range all {
			depth, ok := one.below(path[:left])
			if ok && depth == 0 && (left == len(path) || one.holds(path[left:])) {
				return path[:left]
			}
		}
	}
	return path
}

// holds tells whether steps right below a field are an item, or a name that a person chooses, which may have dots.
func (f field) holds(steps []pathStep) bool {
	item := steps[0].bracket || isIndex(steps[0].text)
	if strings.Contains(f.Want, ", each item ") {
		return item && len(steps) == 1
	}
	return !steps[0].bracket && (strings.Contains(f.Want, ", each value ") || strings.Contains(f.Want, ", each further value "))
}

func fieldPaths() []string {
	all, _ := newPipeline().Reference() // cannot fail: our own definitions are tested
	var paths []string
	for _, field := range all {
		paths = append(paths, field.Path)
	}
	return paths
}

// printField says all there is to say about a field.
func printField(w io.Writer, field generator.Field) {
	fmt.Fprintf(w, "%s%s\n  want %s\n  %s Source: %s.\n", field.Path, required(field), field.Want, field.Doc, field.Source)
}

// printBelow says of a field below the one asked for what it is for.
func printBelow(w io.Writer, field generator.Field) {
	first, _, _ := strings.Cut(field.Doc, ". ")
	fmt.Fprintf(w, "  %s%s: %s\n", field.Path, required(field), strings.TrimSuffix(first, "."))
}

func required(field generator.Field) string {
	if field.Required {
		return " (required)"
	}
	return ""
}

func printJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}
