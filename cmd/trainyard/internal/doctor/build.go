package doctor

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const document = `apiVersion: trainyard.dev/v1alpha1
kind: Platform
metadata:
  name: doctor
  annotations:
    config.kubernetes.io/function: |
      exec: {path: trainyard-fn}
spec:
  runtimes:
    mpi: {from: openmpi-cpu, image: localhost/mpi}
`

// made is in the output of a build whose function has run.
const made = "kind: ClusterTrainingRuntime"

const kustomization = `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
generators: [platform.yaml]
`

const replacements = `replacements:
- source: {kind: FunctionRun, name: doctor, fieldPath: function}
  targets: [{select: {kind: FunctionRun, name: doctor}, fieldPaths: [function]}]
`

// Folders to build: one fails where the function does not run, the other need not.
func guarded(dir string) string { return filepath.Join(dir, "guarded") }
func bare(dir string) string    { return filepath.Join(dir, "bare") }

func writeFolders(dir string) error {
	for folder, text := range map[string]string{guarded(dir): kustomization + replacements, bare(dir): kustomization} {
		err := os.Mkdir(folder, 0o700)
		for name, text := range map[string]string{"platform.yaml": document, "kustomization.yaml": text} {
			err = errors.Join(err, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// builds tries the flags.
func builds(ctx context.Context, dir string) []Check {
	both := Check{Name: "with both flags", Status: Missing}
	out, err := output(ctx, "kustomize", "build", alpha, execFlag, guarded(dir))
	switch {
	case err != nil:
		both.Says = "kustomize build " + bothFlags + " fails: " + firstLine(err)
	case !strings.Contains(out, made):
		both.Says = "kustomize build " + bothFlags + " left the function out, and said nothing"
	default:
		both.Status, both.Says = OK, "kustomize build "+bothFlags+" makes a platform"
	}
	return []Check{both, without(ctx, dir, "without "+execFlag, alpha), without(ctx, dir, "without flags")}
}

// without tries what becomes of a function that may not run.
func without(ctx context.Context, dir, name string, flags ...string) Check {
	c := Check{Name: name}
	_, err := output(ctx, "kustomize", append([]string{"build", bare(dir)}, flags...)...)
	if err != nil {
		c.Status, c.Says = OK, "kustomize refuses to build"
		return c
	}
	if _, err := output(ctx, "kustomize", append([]string{"build", guarded(dir)}, flags...)...); err == nil {
		c.Status, c.Says = Missing, "kustomize leaves the function out in silence, with replacements as well: do not apply what it builds with pruning"
		return c
	}
	c.Status, c.Says = Note, "kustomize leaves the function out in silence; with replacements, as init --kustomize writes them, it refuses to build"
	return c
}

// patience is how long a program may take.
const patience = time.Minute

// failedError is what a program has said that failed.
type failedError struct {
	error
	said string
}

// output is what a program prints that is found in PATH.
func output(ctx context.Context, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var out, words bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdout, cmd.Stderr = &out, &words
	if err := cmd.Run(); err != nil {
		return "", &failedError{err, words.String()}
	}
	return out.String(), nil
}

// isAbsent tells that there is no such program.
func isAbsent(err error) bool {
	failed := (*failedError)(nil)
	return errors.As(err, &failed) && errors.Is(failed.error, exec.ErrNotFound)
}

// firstLine is the first thing that a program has said, or how it ended.
func firstLine(err error) string {
	if failed := (*failedError)(nil); errors.As(err, &failed) {
		for line := range strings.Lines(failed.said) {
			if line = strings.TrimSpace(line); line != "" {
				return line
			}
		}
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
