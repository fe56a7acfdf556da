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

// generatedLine is a line that a kustomize build prints only if the function trainyard-fn ran.
const generatedLine = "kind: ClusterTrainingRuntime"

const kustomization = `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
generators: [platform.yaml]
`

const replacements = `replacements:
- source: {kind: FunctionRun, name: doctor, fieldPath: function}
  targets: [{select: {kind: FunctionRun, name: doctor}, fieldPaths: [function]}]
`

// guardedFolder returns the folder of the kustomization that has replacements. The replacements make the kustomize
// build fail if the function trainyard-fn does not run.
func guardedFolder(dir string) string { return filepath.Join(dir, "guarded") }

// plainFolder returns the folder of the kustomization that has no replacements.
func plainFolder(dir string) string { return filepath.Join(dir, "plain") }

func writeFolders(dir string) error {
	for folder, text := range map[string]string{guardedFolder(dir): kustomization + replacements, plainFolder(dir): kustomization} {
		err := errors.Join(
			os.Mkdir(folder, 0o700),
			os.WriteFile(filepath.Join(folder, "platform.yaml"), []byte(document), 0o600),
			os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(text), 0o600),
		)
		if err != nil {
			return err
		}
	}
	return nil
}

func checkBuilds(ctx context.Context, dir string) []Check {
	both := Check{"with both flags", OK, "kustomize build " + bothFlags + " generates a platform"}
	out, err := output(ctx, "kustomize", "build", alphaFlag, execFlag, guardedFolder(dir))
	switch {
	case err != nil:
		both.Status, both.Message = Missing, "kustomize build "+bothFlags+" fails: "+firstLine(err)
	case !strings.Contains(out, generatedLine):
		both.Status, both.Message = Missing, "kustomize build "+bothFlags+" skips the function without an error"
	}
	return []Check{both, checkSkipped(ctx, dir, "without "+execFlag, alphaFlag), checkSkipped(ctx, dir, "without flags")}
}

// checkSkipped checks whether a build fails if kustomize has no permission to run the function. If
// kustomize skips the function without an error, checkSkipped also builds a kustomization with
// replacements, and checks whether this second build fails.
func checkSkipped(ctx context.Context, dir, name string, flags ...string) Check {
	if _, err := output(ctx, "kustomize", append([]string{"build", plainFolder(dir)}, flags...)...); err != nil {
		return Check{name, OK, "kustomize refuses to build"}
	}
	if _, err := output(ctx, "kustomize", append([]string{"build", guardedFolder(dir)}, flags...)...); err == nil {
		return Check{name, Missing, "kustomize skips the function without an error, even with the replacements that trainyard init --kustomize writes: do not apply the output with pruning, which would delete the platform"}
	}
	return Check{name, Note, "kustomize skips the function, and the build fails only if the kustomization has the replacements that trainyard init --kustomize writes"}
}

const programTimeout = time.Minute

// programError contains the error of a program, and the text that the program wrote to standard
// error.
type programError struct {
	error
	stderr string
}

func output(ctx context.Context, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, programTimeout)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", &programError{err, stderr.String()}
	}
	return stdout.String(), nil
}

// isNotFound reports whether a program is not in PATH.
func isNotFound(err error) bool {
	failed := (*programError)(nil)
	return errors.As(err, &failed) && errors.Is(failed.error, exec.ErrNotFound)
}

// firstLine returns the first line that a failed program wrote to standard error. If the program wrote nothing to
// standard error, firstLine returns the first line of err.Error().
func firstLine(err error) string {
	text := err.Error()
	if failed := (*programError)(nil); errors.As(err, &failed) && strings.TrimSpace(failed.stderr) != "" {
		text = failed.stderr
	}
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(line)
}
