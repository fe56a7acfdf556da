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

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/generator/load"
)

// maxInput is the maximum number of bytes that readFrom reads from a file. The parser's own limit is lower
// than maxInput. The parser therefore refuses each file that readFrom has cut off.
const maxInput = 2 << 20 // bytes

type inputFlags struct {
	files       []string
	example     string
	environment string
	imports     bool
	report      *reporter
	cmd         *cobra.Command
}

// add registers the input flags and the flag --report for a command. The report goes to
// standard output if the function onStdout returns true.
func (f *inputFlags) add(cmd *cobra.Command, r *reporter, onStdout func() bool) {
	f.report, f.cmd = r, cmd
	r.add(cmd, onStdout)
	flags := cmd.Flags()
	flags.StringArrayVarP(&f.files, "file", "f", nil, `platform document in YAML, JSON (*.json) or CUE (*.cue); "-" is standard input; each further -f adds a layer over the previous files`)
	namedChoices(examples()...).addFlag(cmd, &f.example, "example", "", "", "as the first layer, before any file of -f, use the document of a built-in example")
	flags.StringVar(&f.environment, "env", "", "environment of the document (default all)")
	flags.BoolVar(&f.imports, "allow-cue-imports", false, "let CUE documents import packages of CUE's standard library, such as strings")
	_ = cmd.MarkFlagFilename("file", "yaml", "yml", "json", "cue")
	complete(cmd, "env", f.completeEnvironment)
}

func (f *inputFlags) completeEnvironment(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	var unknown *load.EnvironmentError
	request, err := f.request(strings.NewReader(""))
	if err == nil {
		// The request asks for an environment with an empty name, and no document contains such an environment. The
		// request therefore fails, and its error lists all environments of the document.
		request.Environments = []string{""}
		_, err = newPipeline().Generate(cmd.Context(), request)
	}
	if errors.As(err, &unknown) {
		return unknown.Known, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

func (f *inputFlags) generate(ctx context.Context, in io.Reader) ([]generator.Platform, error) {
	request, err := f.request(in)
	if err != nil {
		return nil, err
	}
	return newPipeline().Generate(ctx, request)
}

func (f *inputFlags) generateWithNotes(ctx context.Context, in io.Reader) ([]generator.Platform, error) {
	platforms, err := f.generate(ctx, in)
	f.report.addNotes(combineNotes(platforms))
	return platforms, err
}

func (f *inputFlags) request(in io.Reader) (generator.Request, error) {
	r := generator.Request{AllowImports: f.imports}
	if f.environmentGiven() {
		r.Environments = []string{f.environment}
	}
	if f.example != "" {
		file := path.Join("examples", f.example, "platform.yaml")
		text, err := trainyard.Examples.ReadFile(file)
		if err != nil {
			return r, err
		}
		r.Layers = append(r.Layers, generator.Input{Name: file, Text: text})
	}
	for _, name := range f.files {
		layer, err := readFile(name, in)
		if err != nil {
			return r, err
		}
		r.Layers = append(r.Layers, layer)
	}
	if len(r.Layers) == 0 {
		return r, usageErrorf("want a platform document: -f FILE, or --example NAME")
	}
	return r, nil
}

// environmentGiven reports whether the command line contains --env, even with an empty value. A shell passes an empty
// value if the variable in --env "$NAME" is not set.
func (f *inputFlags) environmentGiven() bool {
	return f.cmd.Flags().Changed("env")
}

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
		return generator.Input{}, inputErrorf("%w", err)
	}
	defer file.Close()
	return readFrom(name, file)
}

// pipeTimeout is the maximum time that the function "open" waits for a named pipe. A named pipe cannot be opened
// for reading until a program opens it for writing. The timeout does not affect the pipe that a shell creates
// for <(COMMAND), because this pipe has a writer from the start.
const pipeTimeout = 5 * time.Second

// open opens a regular file, a device or a named pipe for reading.
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
	case <-time.After(pipeTimeout):
		return nil, fmt.Errorf("%s: no program opened this named pipe for writing within %s", name, pipeTimeout)
	}
}

func readFrom(name string, r io.Reader) (generator.Input, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxInput))
	if err != nil {
		return generator.Input{}, inputErrorf("reading %s: %w", name, err)
	}
	return generator.Input{Name: name, Text: text}, nil
}

func examples() []string {
	entries, _ := fs.ReadDir(trainyard.Examples, "examples") // cannot fail, because the examples are embedded
	names := make([]string, len(entries))
	for i, entry := range entries {
		names[i] = entry.Name()
	}
	return names
}
