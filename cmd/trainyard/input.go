package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/generator"
)

// maxInput bounds what is read before anything is parsed; the parser says that
// a document of this size is too large.
const maxInput = 2 << 20 // bytes

// inputFlags choose the platform document, and the environment.
type inputFlags struct {
	files       []string
	example     string
	environment string
	imports     bool
	report      *reporter
	flags       *pflag.FlagSet
}

// add gives a command the flags, and --report, whose reports go to standard output
// where onOut says that it is free.
func (f *inputFlags) add(cmd *cobra.Command, r *reporter, onOut func() bool) {
	f.report = r
	r.add(cmd, onOut)
	f.flags = cmd.Flags()
	cmd.Flags().StringArrayVarP(&f.files, "file", "f", nil, `platform document, YAML, JSON (*.json) or CUE (*.cue); "-" is standard input; each further -f is laid over those before it`)
	cmd.Flags().StringVar(&f.example, "example", "", "use the document of a built-in example: "+strings.Join(examples(), ", ")+"; -f is laid over it")
	cmd.Flags().StringVar(&f.environment, "env", "", "the environment of the document to use; all by default")
	cmd.Flags().BoolVar(&f.imports, "allow-cue-imports", false, "let documents in CUE import CUE's own packages, such as strings")
	_ = cmd.MarkFlagFilename("file", "yaml", "yml", "json", "cue")
	_ = cmd.RegisterFlagCompletionFunc("example", cobra.FixedCompletions(examples(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("env", f.completeEnvironment)
}

// completeEnvironment offers the environments of the document that the command line names so far.
func (f *inputFlags) completeEnvironment(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	request, err := f.request(strings.NewReader(""))
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	request.Environments = []string{""} // no name of an environment
	_, err = newPipeline().Generate(cmd.Context(), request)
	var unknown *generator.EnvironmentError
	if errors.As(err, &unknown) {
		return unknown.Known, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// generate reads the chosen document and generates its objects.
func (f *inputFlags) generate(ctx context.Context, in io.Reader) ([]generator.Platform, error) {
	request, err := f.request(in)
	if err != nil {
		return nil, err
	}
	return newPipeline().Generate(ctx, request)
}

// request reads the chosen layers.
func (f *inputFlags) request(in io.Reader) (generator.Request, error) {
	r := generator.Request{AllowImports: f.imports}
	if f.environmentGiven() {
		r.Environments = []string{f.environment}
	}
	if f.example != "" {
		layer, err := readExample(f.example)
		if err != nil {
			return r, err
		}
		r.Layers = append(r.Layers, layer)
	}
	for _, name := range f.files {
		layer, err := readFile(name, in)
		if err != nil {
			return r, err
		}
		r.Layers = append(r.Layers, layer)
	}
	if len(r.Layers) == 0 {
		return r, &usageError{errors.New("want a platform document: -f FILE, or --example NAME")}
	}
	return r, nil
}

// environmentGiven tells --env "", which a shell makes of a variable that is not
// set, from no --env at all.
func (f *inputFlags) environmentGiven() bool {
	return f.environment != "" || f.flags != nil && f.flags.Changed("env")
}

// names are the files of a request, as messages call them.
func names(r generator.Request) string {
	all := make([]string, len(r.Layers))
	for i, layer := range r.Layers {
		all[i] = layer.Name
	}
	return strings.Join(all, " + ")
}

func readFile(name string, in io.Reader) (generator.Input, error) {
	if name == "-" {
		return readFrom("<stdin>", in)
	}
	file, err := open(name)
	if err != nil {
		return generator.Input{}, &usageError{err}
	}
	defer file.Close()
	return readFrom(name, file)
}

// patience is how long a named pipe may have no writer. Opening one waits for ever, and
// that of a shell's <(COMMAND) has a writer from the start.
const patience = 5 * time.Second

// open opens a file to read, of whatever kind it is.
func open(name string) (*os.File, error) {
	info, err := os.Stat(name)
	switch {
	case err == nil && info.IsDir():
		return nil, fmt.Errorf("%s is a directory: want a file", name)
	case err != nil || info.Mode()&fs.ModeNamedPipe == 0:
		return os.Open(name)
	}
	type result struct {
		file *os.File
		err  error
	}
	opened := make(chan result, 1)
	go func() {
		file, err := os.Open(name)
		opened <- result{file, err}
	}()
	select {
	case r := <-opened:
		return r.file, r.err
	case <-time.After(patience):
		return nil, fmt.Errorf("%s is a pipe that nothing writes to: gave up after %s", name, patience)
	}
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
