// Command trainyard-fn is a KRM function for kustomize and kpt. The function generates the objects of a platform
// document, validates objects against a platform document, or changes objects as a Transformer document requests.
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/trainyard/trainyard/cmd/internal/build"
	"github.com/trainyard/trainyard/cmd/internal/gctuning"
)

// The exit codes have the same meanings as those of the command "trainyard".
const (
	exitOK       = 0
	exitInternal = 1
	exitUsage    = 2
	exitInvalid  = 3
	exitDenied   = 5
)

const usage = `trainyard-fn is a KRM function. It reads a ResourceList from standard input and writes one to
standard output. Messages are in the results of the ResourceList. They are also on standard error,
because kustomize does not show results.

The functionConfig is a platform document (apiVersion: trainyard.dev/v1alpha1, kind: Platform).
Annotations of the document select the function:

  trainyard.dev/function: generate     add the objects of the platform (the default)
  trainyard.dev/function: validate     check runtimes for known MPI errors, and TrainJobs against the rules of their tenants
  trainyard.dev/environment: NAME      the environment; required if the document has environments

The functionConfig can also be a document of the kind Transformer. The fields of its spec change objects:

  platform: NAME                       set the label trainyard.dev/platform on objects without it
  labels: {NAME: VALUE}                set these labels
  images: {digests: {IMAGE: DIGEST}, mirrors: {REGISTRY: REGISTRY}}
  argocd: true                         set Argo CD's sync waves and sync options, by kind of object

In a kustomization:

  # platform.yaml
  apiVersion: trainyard.dev/v1alpha1
  kind: Platform
  metadata:
    name: acme
    annotations:
      config.kubernetes.io/function: |
        exec: {path: trainyard-fn}
  spec: ...

  # kustomization.yaml
  generators: [platform.yaml]
  replacements: # fail if kustomize skips the function
  - source: {kind: FunctionRun, name: acme, fieldPath: function}
    targets: [{select: {kind: FunctionRun, name: acme}, fieldPaths: [function]}]

  kustomize build --enable-alpha-plugins --enable-exec .
`

func main() {
	gctuning.Tune()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run executes one command line, and returns the exit code. Without arguments, run reads one ResourceList, processes
// it, and writes one ResourceList or nothing to the writer "out".
func run(ctx context.Context, args []string, in io.Reader, out, messages io.Writer) int {
	if len(args) > 0 {
		return runFlag(args[0], out, messages)
	}
	list, err := readList(in)
	if err != nil {
		fmt.Fprintf(messages, "trainyard-fn: %v\n", err)
		return exitInvalid
	}
	code := list.process(ctx)
	for _, r := range list.Results {
		fmt.Fprintln(messages, formatResult(r))
	}
	var text bytes.Buffer
	err = list.write(&text)
	if err == nil {
		_, err = text.WriteTo(out)
	}
	if err != nil {
		fmt.Fprintf(messages, "trainyard-fn: %v\n", err)
		return exitInternal
	}
	return code
}

func runFlag(flag string, out, messages io.Writer) int {
	switch flag {
	case "--help", "-h":
		fmt.Fprint(out, usage) //nolint:errcheck // if standard output is closed, nobody reads the usage
	case "--version":
		fmt.Fprintf(out, "trainyard-fn %s\n", build.String())
	default:
		fmt.Fprintf(messages, "trainyard-fn: unknown argument %q: want --help, --version or no argument\n", flag)
		return exitUsage
	}
	return exitOK
}
