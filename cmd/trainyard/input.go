package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/generator"
)

// maxInput bounds what is read before anything is parsed; the parser says that
// a document of this size is too large.
const maxInput = 2 << 20 // bytes

// inputFlags choose the platform document.
type inputFlags struct {
	files   []string
	example string
	report  string
}

func (f *inputFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVarP(&f.files, "file", "f", nil, `platform document, YAML or (*.json) JSON; "-" is standard input`)
	cmd.Flags().StringVar(&f.example, "example", "", "use the document of a built-in example: "+strings.Join(examples(), ", "))
	cmd.Flags().StringVar(&f.report, "report", "text", "how to print problems: "+strings.Join(reports, ", "))
	_ = cmd.MarkFlagFilename("file", "yaml", "yml", "json")
	_ = cmd.RegisterFlagCompletionFunc("example", cobra.FixedCompletions(examples(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("report", cobra.FixedCompletions(reports, cobra.ShellCompDirectiveNoFileComp))
}

// read returns the chosen document.
func (f *inputFlags) read(in io.Reader) (generator.Input, error) {
	if err := oneOf("--report", f.report, reports); err != nil {
		return generator.Input{}, err
	}
	switch {
	case f.example != "" && len(f.files) > 0:
		return generator.Input{}, &usageError{fmt.Errorf("want either -f or --example, got both")}
	case f.example != "":
		return readExample(f.example)
	case len(f.files) != 1:
		return generator.Input{}, &usageError{fmt.Errorf("want one platform document (-f FILE, or --example NAME), got %d", len(f.files))}
	case f.files[0] == "-":
		return readFrom("<stdin>", in)
	}
	file, err := os.Open(f.files[0])
	if err != nil {
		return generator.Input{}, &usageError{err}
	}
	defer file.Close()
	return readFrom(f.files[0], file)
}

func readFrom(name string, r io.Reader) (generator.Input, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxInput))
	if err != nil {
		return generator.Input{}, &usageError{fmt.Errorf("reading %s: %w", name, err)}
	}
	return generator.Input{Name: name, Text: text}, nil
}

func readExample(name string) (generator.Input, error) {
	if err := oneOf("--example", name, examples()); err != nil {
		return generator.Input{}, err
	}
	file := path.Join("examples", name, "platform.yaml")
	text, err := trainyard.Examples.ReadFile(file)
	return generator.Input{Name: file, Text: text}, err
}

// examples lists the built-in examples by name.
func examples() []string {
	entries, _ := fs.ReadDir(trainyard.Examples, "examples") // embedded: cannot fail
	names := make([]string, len(entries))
	for i, entry := range entries {
		names[i] = entry.Name()
	}
	return names
}
