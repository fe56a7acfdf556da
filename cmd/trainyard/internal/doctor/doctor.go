// Package doctor checks whether kustomize on this machine can run trainyard-fn, and whether trainyard finds the program that
// evaluates policies. The checks run the programs, because a version number alone does not show whether a program works.
package doctor

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/trainyard/trainyard/cmd/internal/build"
)

// Status is the result of a check.
type Status string

// Possible results of a check.
const (
	OK      Status = "ok"
	Missing Status = "missing" // the user must install or configure something
	Note    Status = "note"    // the user may want to know the message, but nothing is missing
)

// Check is one check and its result.
type Check struct {
	Name    string `json:"name"`
	Status  Status `json:"status"`
	Message string `json:"says"` // one line
}

// Host describes the machine to check, and optionally an Argo CD in a cluster.
type Host struct {
	Build     string                                // version of this program
	Evaluator func() (string, error)                // returns the path of trainyard-policy
	ArgoCD    func(context.Context) (string, error) // returns Argo CD's kustomize.buildOptions; nil if no cluster is given
}

// minKustomize is the oldest tested version of kustomize.
const minKustomize = "5.8.1"

const (
	alphaFlag = "--enable-alpha-plugins"
	execFlag  = "--enable-exec"
	bothFlags = alphaFlag + " " + execFlag
)

// Checks runs all checks. If the temporary kustomizations for the checks cannot be created, Checks returns an error.
func (h Host) Checks(ctx context.Context) ([]Check, error) {
	dir, err := os.MkdirTemp("", "trainyard-doctor-")
	if err != nil {
		return nil, fmt.Errorf("creating a temporary folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // files that remain in the temporary folder are harmless
	if err := writeFolders(dir); err != nil {
		return nil, fmt.Errorf("writing kustomizations: %w", err)
	}
	function, kustomize := h.checkFunction(ctx), checkKustomize(ctx)
	checks := []Check{function, kustomize}
	if function.Status != Missing && kustomize.Status != Missing {
		checks = append(checks, checkBuilds(ctx, dir)...)
	}
	return append(checks, checkKubectl(ctx, dir), h.checkEvaluator(ctx), h.checkArgoCD(ctx)), nil
}

// checkFunction checks that trainyard-fn has the same version as this program.
func (h Host) checkFunction(ctx context.Context) Check {
	const name = "trainyard-fn"
	out, err := output(ctx, name, "--version")
	got := strings.TrimPrefix(strings.TrimSpace(out), name+" ")
	switch {
	case isNotFound(err):
		return Check{name, Missing, "not in PATH: " + build.InstallCommand(name) + " installs it into Go's bin folder"}
	case err != nil:
		return Check{name, Missing, "printing its version fails: " + firstLine(err)}
	case got != h.Build:
		return Check{name, Missing, fmt.Sprintf("version %s differs from trainyard %s, so the two programs generate different objects: install the same version of both", got, h.Build)}
	}
	return Check{name, OK, got + ", like trainyard"}
}

func checkKustomize(ctx context.Context) Check {
	const name = "kustomize"
	out, err := output(ctx, name, "version")
	switch got, invalid := version.ParseGeneric(strings.TrimSpace(out)); {
	case isNotFound(err):
		return Check{name, Missing, "not in PATH: install kustomize " + minKustomize + " or newer, from kubectl.docs.kubernetes.io/installation/kustomize"}
	case err != nil:
		return Check{name, Missing, "printing its version fails: " + firstLine(err)}
	case invalid != nil:
		return Check{name, Note, fmt.Sprintf("%q is not a version number; the oldest tested version is %s", strings.TrimSpace(out), minKustomize)}
	case got.LessThan(version.MustParseGeneric(minKustomize)):
		return Check{name, Note, fmt.Sprintf("version %s is not tested; the oldest tested version is %s", got, minKustomize)}
	default:
		return Check{name, OK, got.String()}
	}
}

// checkKubectl checks whether `kubectl kustomize` can run KRM functions.
func checkKubectl(ctx context.Context, dir string) Check {
	const name = "kubectl kustomize"
	out, err := output(ctx, "kubectl", "kustomize", alphaFlag, execFlag, guardedFolder(dir))
	switch {
	case isNotFound(err):
		return Check{name, Note, "not checked: kubectl is not in PATH"}
	case err != nil:
		return Check{name, Note, "does not run functions here (" + firstLine(err) + "): pipe kustomize build into kubectl apply -f -"}
	case !strings.Contains(out, generatedLine):
		return Check{name, Note, "skips the function without an error: pipe kustomize build into kubectl apply -f -"}
	}
	return Check{name, OK, "runs functions, with " + bothFlags}
}

// checkEvaluator checks that trainyard-policy runs. Only the command "trainyard policy test" needs the program
// trainyard-policy.
func (h Host) checkEvaluator(ctx context.Context) Check {
	const name = "trainyard-policy"
	program, err := h.Evaluator()
	if err != nil {
		return Check{name, Note, "not found, and only trainyard policy test needs it: " + build.InstallCommand(name) + " installs it into Go's bin folder"}
	}
	// The check sends an empty request, which is invalid. If trainyard-policy works, it reports the invalid request in
	// its response, and exits with code 0. The check therefore ignores the response, and looks only at the exit code.
	if _, err := output(ctx, program); err != nil {
		return Check{name, Missing, "answering a request fails: " + firstLine(err)}
	}
	return Check{name, OK, "trainyard policy test runs " + program}
}

// checkArgoCD checks that kustomize.buildOptions of Argo CD contains the flags alphaFlag and execFlag.
func (h Host) checkArgoCD(ctx context.Context) Check {
	const name = "Argo CD"
	const advice = "every repository can then run programs in argocd-repo-server, and that trainyard-fn must be in the PATH of argocd-repo-server; it is safer to commit the output of trainyard generate"
	if h.ArgoCD == nil {
		return Check{name, Note, fmt.Sprintf("not checked, because --argocd-namespace is not set: Argo CD can run functions only if kustomize.buildOptions in the ConfigMap argocd-cm contains %s; note that %s", bothFlags, advice)}
	}
	options, err := h.ArgoCD(ctx)
	if err != nil {
		return Check{name, Missing, firstLine(err)}
	}
	missing := slices.DeleteFunc([]string{alphaFlag, execFlag}, func(flag string) bool { return hasFlag(options, flag) })
	if len(missing) > 0 {
		return Check{name, Missing, fmt.Sprintf("kustomize.buildOptions of argocd-cm is %q: add %s; note that %s", options, strings.Join(missing, " "), advice)}
	}
	return Check{name, Note, "kustomize.buildOptions contains --enable-alpha-plugins and --enable-exec; this check cannot see whether trainyard-fn is in the PATH of argocd-repo-server"}
}

// hasFlag reports whether options contain a flag. Like Argo CD, hasFlag splits the options at blanks.
func hasFlag(options, flag string) bool {
	words := strings.Fields(options)
	return slices.Contains(words, flag) || slices.Contains(words, flag+"=true")
}
