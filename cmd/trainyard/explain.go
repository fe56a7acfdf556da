package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trainyard/trainyard/api/message"
	"github.com/trainyard/trainyard/generator/schema"
)

type explainFlags struct {
	input  inputFlags
	origin bool
	output string
}

func newExplain(s streams, r *reporter) *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:   "explain [FIELD]",
		Short: "Describe a field of the document, or show which layer sets it",
		Long: `Describe a field of the platform document: its meaning, its allowed values and the fields below it.
With --origin, show the values that the document sets for the field and below it. Each value has its file
and line.`,
		Example: `  # Describe a runtime and its fields
  trainyard explain spec.runtimes.NAME

  # The first part, spec, can be left out
  trainyard explain runtimes

  # Describe one field. Any runtime name works in the path
  trainyard explain spec.runtimes.mpi-openmpi-cpu.preflight.timeout

  # Which file sets this image?
  trainyard explain --origin runtimes.mpi-openmpi-cpu.image -f platform.yaml -f prod.yaml`,
		Args: wantArg(false, "at most one field"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), s, strings.Join(args, "")) },
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return fieldPaths(), cobra.ShellCompDirectiveNoFileComp
		},
	}
	f.input.add(cmd, r, nil)
	cmd.Flags().BoolVar(&f.origin, "origin", false, "show where the document's values come from")
	addOutput(cmd, &f.output, textOrJSON)
	return cmd
}

func (f *explainFlags) run(ctx context.Context, s streams, path string) error {
	steps, err := parsePath(path)
	if err != nil {
		return err
	}
	if f.origin {
		return f.origins(ctx, s, path, steps)
	}
	return f.fields(s, path, steps)
}

type field struct {
	schema.Field
	steps []string
}

func reference() ([]field, error) {
	described, err := newPipeline().Fields()
	all := make([]field, len(described))
	for i, d := range described {
		all[i].Field = d
		if err == nil {
			all[i].steps, err = parsePath(d.Path)
		}
	}
	return all, err
}

func (f *explainFlags) fields(s streams, path string, steps []string) error {
	all, err := reference()
	if err != nil {
		return err
	}
	exact, below := findFields(all, withoutEnvironment(withSpec(all, steps)))
	found := slices.Concat(exact, below)
	if len(found) == 0 {
		return unknownField(path)
	}
	if f.output == "json" {
		return printJSON(s.out, found)
	}
	for _, one := range exact {
		fmt.Fprintf(s.out, "%s%s\n  want %s\n  %s%s\n", one.Path, required(one), one.Want, one.Doc, sourceText(one))
	}
	for _, one := range below {
		first, _, _ := strings.Cut(one.Doc, ". ")
		fmt.Fprintf(s.out, "  %s%s: %s\n", one.Path, required(one), strings.TrimSuffix(first, "."))
	}
	return nil
}

// sourceText returns a sentence that names the source of a field's limits, such as a rule of Kubernetes. If the field has no
// source, sourceText returns an empty string.
func sourceText(one field) string {
	if one.Source == "" {
		return ""
	}
	return " Source: " + one.Source + "."
}

// findFields returns the fields at a path, and the fields directly below the path.
func findFields(all []field, path []string) (exact, below []field) {
	path = nearestField(all, path)
	for _, one := range all {
		switch depth, ok := one.depthBelow(path); {
		case ok && depth == 0:
			exact = append(exact, one)
		case ok && depth == 1:
			below = append(below, one)
		}
	}
	return exact, below
}

func required(one field) string {
	if one.Required {
		return " (required)"
	}
	return ""
}

// maxShownPath is the maximum number of characters of a path that a message shows. Real paths are shorter.
const maxShownPath = 200

func unknownField(given string) error {
	path := strconv.Quote(message.Shorten(given, maxShownPath))
	for _, candidate := range []string{given, "spec." + given} {
		if nearest := message.Nearest(candidate, fieldPaths()); nearest != "" {
			return usageErrorf("field %s: no such field: did you mean %q?", path, nearest)
		}
	}
	return usageErrorf("field %s: no such field: run \"trainyard explain\" to list the top-level fields", path)
}

// withSpec adds the missing first step "spec" to a path. For example, runtimes.NAME becomes
// spec.runtimes.NAME.
func withSpec(all []field, steps []string) []string {
	if len(steps) == 0 || slices.ContainsFunc(all, func(one field) bool { return one.steps[0] == steps[0] }) {
		return steps
	}
	return slices.Concat([]string{"spec"}, steps)
}

// withoutEnvironment turns a path below spec.environments.NAME into the path of the same field below spec.
func withoutEnvironment(steps []string) []string {
	if isBelowEnvironments(steps) && len(steps) > 2 && !isBracket(steps[2]) {
		return slices.Concat(steps[:1], steps[3:])
	}
	return steps
}

func isBelowEnvironments(steps []string) bool {
	return len(steps) > 1 && steps[0] == "spec" && steps[1] == "environments"
}

// depthBelow compares the field's path with the given path. If the field's path begins with the given path, the result
// "ok" is true. The result "depth" is then the number of the remaining steps in the field's path. This number includes
// neither indexes of lists nor keys that the author of the document chose. If the field's path does not begin with the
// given path, the result "ok" is false. The given path can omit the index of a list item.
func (f field) depthBelow(path []string) (depth int, ok bool) {
	for _, step := range f.steps {
		switch {
		case len(path) > 0 && matches(step, path[0]):
			path = path[1:]
		case step == anyItem || len(path) == 0 && step == anyName:
		case len(path) == 0:
			depth++
		default:
			return 0, false
		}
	}
	return depth, len(path) == 0
}

// nearestField removes steps from the end of a path until the remaining path is the path of a field. The removed steps
// can only be the index of a list item, or a key that the author of the document chose. If no field is found,
// nearestField returns the unchanged path.
func nearestField(all []field, path []string) []string {
	for n := len(path); n > 0; n-- {
		for _, one := range all {
			depth, ok := one.depthBelow(path[:n])
			if ok && depth == 0 && (n == len(path) || one.containsValue(path[n:])) {
				return path[:n]
			}
		}
	}
	return path
}

// containsValue reports whether the path of the field, followed by the argument "steps", can lead to a value inside the
// field. If the field is a list, there must be exactly one step, and this step must be the index of an item. The field
// can also be a mapping in which the author of the document chooses the keys. In this case, containsValue treats all
// steps together as one key. The reason is that a key can contain dots. If the user wrote such a key without quotes,
// parsePath has split the key at its dots into several steps. For any other field, containsValue returns false.
func (f field) containsValue(steps []string) bool {
	if strings.Contains(f.Want, ", each item ") {
		return len(steps) == 1 && isItem(steps[0])
	}
	return !isBracket(steps[0]) && (strings.Contains(f.Want, ", each value ") || strings.Contains(f.Want, ", each further value "))
}

func fieldPaths() []string {
	all, _ := newPipeline().Fields() // the built-in schema is valid
	var paths []string
	for _, field := range all {
		paths = append(paths, field.Path)
	}
	return paths
}
