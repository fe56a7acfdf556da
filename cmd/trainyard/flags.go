package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/trainyard/trainyard/api/message"
)

type choice struct{ name, doc string }

// choices lists the allowed values of a flag, in the order in which help texts list them.
type choices []choice

var textOrJSON = namedChoices("text", "json")

func namedChoices(names ...string) choices {
	return choicesOf(names, func(name string) choice { return choice{name: name} })
}

func choicesOf[T any](formats []T, toChoice func(T) choice) choices {
	var all choices
	for _, format := range formats {
		all = append(all, toChoice(format))
	}
	return all
}

func (c choices) names() []string {
	names := make([]string, len(c))
	for i, one := range c {
		names[i] = one.name
	}
	return names
}

func (c choices) help() string {
	lines := make([]string, len(c))
	for i, one := range c {
		lines[i] = fmt.Sprintf("  %-11s %s", one.name, one.doc)
	}
	return strings.Join(lines, "\n")
}

// addFlag adds a flag that accepts only the values in c. Shell completion suggests the allowed values.
func (c choices) addFlag(cmd *cobra.Command, target *string, name, shorthand, value, usage string) {
	*target = value
	cmd.Flags().VarP(&choiceFlag{target, c}, name, shorthand, usage+": "+strings.Join(c.names(), ", "))
	completions := make([]cobra.Completion, len(c))
	for i, one := range c {
		completions[i] = cobra.CompletionWithDesc(one.name, one.doc)
	}
	complete(cmd, name, cobra.FixedCompletions(completions, cobra.ShellCompDirectiveNoFileComp))
}

func addOutput(cmd *cobra.Command, target *string, formats choices) {
	formats.addFlag(cmd, target, "output", "o", "text", "print format")
}

func complete(cmd *cobra.Command, flag string, f cobra.CompletionFunc) {
	_ = cmd.RegisterFlagCompletionFunc(flag, f) // fails only if the command does not have this flag
}

type choiceFlag struct {
	target  *string
	allowed choices
}

func (f *choiceFlag) String() string { return *f.target }

func (f *choiceFlag) Type() string { return "string" }

// Set stores the value, or returns an error if the value is not allowed.
func (f *choiceFlag) Set(value string) error {
	err := checkAllowed(value, f.allowed.names())
	if err == nil {
		*f.target = value
	}
	return err
}

// checkAllowed returns an error if a value is not allowed. The error lists the allowed values, and suggests the most
// similar value.
func checkAllowed(value string, allowed []string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	err := errors.New("want one of " + listNames(allowed))
	if nearest := message.Nearest(value, allowed); nearest != "" {
		return fmt.Errorf("%w: did you mean %q?", err, nearest)
	}
	return err
}

// maxNames is the maximum number of names that a message lists.
const maxNames = 12

func listNames(names []string) string {
	if len(names) > maxNames {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNames], ", "), len(names)-maxNames)
	}
	return strings.Join(names, ", ")
}

// wantedValues maps the name of a type in pflag to a description of the values that flags of this type accept.
var wantedValues = map[string]string{
	"bool":           "true or false",
	"duration":       "a duration such as 90s or 5m",
	"int32":          "an integer",
	"stringToString": "KEY=VALUE",
}

func flagError(cmd *cobra.Command, err error) error {
	if unknown := (*pflag.NotExistError)(nil); errors.As(err, &unknown) {
		return usageErrorf("%w%s", err, suggestFlag(cmd, unknown.GetSpecifiedName()))
	}
	if invalid := (*pflag.InvalidValueError)(nil); errors.As(err, &invalid) {
		cause := invalid.Unwrap()
		if wanted := wantedValues[invalid.GetFlag().Value.Type()]; wanted != "" {
			cause = errors.New("want " + wanted)
		}
		return usageErrorf("--%s %q: %w", invalid.GetFlag().Name, invalid.GetValue(), cause)
	}
	return usageErrorf("%w", err)
}

// suggestFlag returns text for the error about an unknown flag. The text suggests the flag with the most similar name.
// If no flag has a similar name, the text is empty.
func suggestFlag(cmd *cobra.Command, name string) string {
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, f.Name)
		}
	})
	if nearest := message.Nearest(name, known); nearest != "" {
		return fmt.Sprintf(": did you mean --%s?", nearest)
	}
	return ""
}

// wantArg returns a check that allows at most one positional argument. If "required" is true, the check
// requires exactly one argument.
func wantArg(required bool, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if required && len(args) == 0 || len(args) > 1 {
			return usageErrorf("%s: want %s, got %s", commandName(cmd), what, count(len(args), "argument"))
		}
		return nil
	}
}

// noArgs refuses positional arguments. If the command has the flag -f, the error suggests -f, because the argument is
// most likely a file name.
func noArgs(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case cmd.Flags().Lookup("file") != nil:
		return usageErrorf("argument %q: want the document with -f, as in: %s -f %s", args[0], cmd.CommandPath(), args[0])
	}
	return usageErrorf("%s: want no arguments, got %q", commandName(cmd), args[0])
}

// commandName returns the name of a command without the name of the program.
func commandName(cmd *cobra.Command) string {
	_, name, _ := strings.Cut(cmd.CommandPath(), " ")
	return name
}
