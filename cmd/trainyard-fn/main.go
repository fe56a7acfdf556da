// Command trainyard-fn is a KRM function: kustomize or kpt hands it a ResourceList, and it makes the
// objects of the platform document that is its functionConfig, judges the objects that it is given, or
// changes them as a Transformer says.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/trainyard/trainyard/cmd/internal/build"
	"github.com/trainyard/trainyard/cmd/internal/pace"
)

// Exit codes, as those of trainyard.
const (
	exitOK       = 0
	exitInternal = 1
	exitUsage    = 2
	exitInvalid  = 3
	exitDenied   = 5
)

const usage = `trainyard-fn is a KRM function. It reads a ResourceList from standard input and writes one to
standard output; what it has to say is in the results, and on standard error as well, because
kustomize shows no results.

Its functionConfig is a platform document (apiVersion: trainyard.dev/v1alpha1, kind: Platform).
Annotations of the document say what it is to do:

  trainyard.dev/function: generate     add the objects of the platform (the default)
  trainyard.dev/function: validate     judge runtimes by the traps of MPI, and TrainJobs by the rules of their tenants
  trainyard.dev/environment: NAME      which of the document's environments; needed where it has some

Or it is a document of the kind Transformer, whose spec says what to change of the objects:

  platform: NAME                       the label trainyard.dev/platform, where there is none
  labels: {NAME: VALUE}                these labels
  images: {digests: {IMAGE: DIGEST}, mirrors: {REGISTRY: REGISTRY}}
  argocd: true                         Argo CD's sync waves and sync options, by kinds

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
  replacements: # fail where kustomize leaves the function out
  - source: {kind: FunctionRun, name: acme, fieldPath: function}
    targets: [{select: {kind: FunctionRun, name: acme}, fieldPaths: [function]}]

  kustomize build --enable-alpha-plugins --enable-exec .
`

func main() {
	pace.Collector()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run does what the ResourceList says. It writes one ResourceList to out, or nothing.
func run(ctx context.Context, args []string, in io.Reader, out, words io.Writer) int {
	if len(args) > 0 {
		if args[0] == "--help" || args[0] == "-h" {
			fmt.Fprint(out, usage) //nolint:errcheck // there is nobody else to tell
			return exitOK
		}
		if args[0] == "--version" {
			fmt.Fprintf(out, "trainyard-fn %s\n", build.Words())
			return exitOK
		}
		fmt.Fprintf(words, "trainyard-fn: unknown argument %q: want none, --help or --version\n", args[0])
		return exitUsage
	}
	list, err := readList(in)
	if err != nil {
		fmt.Fprintf(words, "trainyard-fn: %v\n", err)
		return exitInvalid
	}
	code := list.answer(ctx)
	for _, r := range list.Results {
		fmt.Fprintf(words, "%s: %s\n", r.Severity, r.line())
	}
	buffer := bufio.NewWriter(out)
	if err := errors.Join(list.write(buffer), buffer.Flush()); err != nil {
		fmt.Fprintf(words, "trainyard-fn: %v\n", err)
		return exitInternal
	}
	return code
}
