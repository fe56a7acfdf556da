// Package doctor finds out whether a host can run trainyard-fn in kustomize, and what it lacks. What
// it says of the host has been tried there.
package doctor

import (
	"context"
	"fmt"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
)

// Status is what a check comes to.
type Status string

// Statuses.
const (
	OK      Status = "ok"
	Missing Status = "missing" // something has to be installed or set
	Note    Status = "note"    // what to know
)

// Check is one thing that has been looked at.
type Check struct {
	Name   string `json:"name"`
	Status Status `json:"status"`
	Says   string `json:"says"` // one line
}

// Host is what is looked at.
type Host struct {
	Build  string                                // which build this program is
	ArgoCD func(context.Context) (string, error) // Argo CD's kustomize.buildOptions; nil where no cluster is asked
}

// tried is the oldest kustomize that our tests run.
const tried = "5.8.1"

// Flags of kustomize build.
const (
	alpha     = "--enable-alpha-plugins"
	execFlag  = "--enable-exec"
	bothFlags = alpha + " " + execFlag
)

// Checks looks at all there is. Its error is that nothing could be tried.
func (h Host) Checks(ctx context.Context) ([]Check, error) {
	dir, err := os.MkdirTemp("", "trainyard-doctor-")
	if err != nil {
		return nil, fmt.Errorf("making a folder to build in: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // what is left is in a folder for what is left
	if err := writeFolders(dir); err != nil {
		return nil, fmt.Errorf("writing what is built: %w", err)
	}
	function, kustomize := h.function(ctx), kustomizeVersion(ctx)
	checks := []Check{function, kustomize}
	if function.Status != Missing && kustomize.Status != Missing {
		checks = append(checks, builds(ctx, dir)...)
	}
	return append(checks, kubectl(ctx, dir), h.argoCD(ctx)), nil
}

// function is the program of the same build as this one.
func (h Host) function(ctx context.Context) Check {
	c := Check{Name: "trainyard-fn", Status: Missing}
	out, err := output(ctx, "trainyard-fn", "--version")
	got := strings.TrimPrefix(strings.TrimSpace(out), "trainyard-fn ")
	switch {
	case isAbsent(err):
		c.Says = "not in PATH: go install github.com/trainyard/trainyard/cmd/trainyard-fn@latest puts it into Go's bin folder"
	case err != nil:
		c.Says = "does not tell its version: " + firstLine(err)
	case got != h.Build:
		c.Says = fmt.Sprintf("is %s, and trainyard %s: install both from one version, because they make different objects", got, h.Build)
	default:
		c.Status, c.Says = OK, got+", as trainyard"
	}
	return c
}

func kustomizeVersion(ctx context.Context) Check {
	c := Check{Name: "kustomize", Status: Missing}
	out, err := output(ctx, "kustomize", "version")
	switch got, unread := version.ParseGeneric(strings.TrimSpace(out)); {
	case isAbsent(err):
		c.Says = "not in PATH: want kustomize " + tried + " or newer, from kubectl.docs.kubernetes.io/installation/kustomize"
	case err != nil:
		c.Says = "does not tell its version: " + firstLine(err)
	case unread != nil:
		c.Status, c.Says = Note, fmt.Sprintf("is of a version that cannot be compared, %q; %s is the oldest that we have tried", strings.TrimSpace(out), tried)
	case got.LessThan(version.MustParseGeneric(tried)):
		c.Status, c.Says = Note, fmt.Sprintf("is %s, and %s the oldest that we have tried", got, tried)
	default:
		c.Status, c.Says = OK, got.String()
	}
	return c
}

// kubectl has a kustomize of its own.
func kubectl(ctx context.Context, dir string) Check {
	c := Check{Name: "kubectl kustomize", Status: Note}
	out, err := output(ctx, "kubectl", "kustomize", alpha, execFlag, guarded(dir))
	switch {
	case isAbsent(err):
		c.Says = "not tried: kubectl is not in PATH"
	case err != nil:
		c.Says = "runs no functions here (" + firstLine(err) + "): pipe kustomize build into kubectl apply -f -"
	case !strings.Contains(out, made):
		c.Says = "left the function out, and said nothing: pipe kustomize build into kubectl apply -f -"
	default:
		c.Status, c.Says = OK, "runs functions, with "+bothFlags
	}
	return c
}

// argoCD needs both flags in its settings.
func (h Host) argoCD(ctx context.Context) Check {
	c := Check{Name: "Argo CD", Status: Note}
	const advice = "that lets every repository run programs in argocd-repo-server, which needs trainyard-fn in its PATH; safer is to commit what trainyard generate writes"
	if h.ArgoCD == nil {
		c.Says = fmt.Sprintf("not asked (--argocd-namespace): functions need kustomize.buildOptions: %s in its ConfigMap argocd-cm; %s", bothFlags, advice)
		return c
	}
	options, err := h.ArgoCD(ctx)
	if err != nil {
		c.Status, c.Says = Missing, firstLine(err)
		return c
	}
	var lacking []string
	for _, flag := range []string{alpha, execFlag} {
		if !hasFlag(options, flag) {
			lacking = append(lacking, flag)
		}
	}
	if len(lacking) > 0 {
		c.Status, c.Says = Missing, fmt.Sprintf("kustomize.buildOptions of argocd-cm is %q and lacks %s; %s", options, strings.Join(lacking, " "), advice)
		return c
	}
	c.Says = "kustomize.buildOptions has both flags; whether trainyard-fn is in the PATH of argocd-repo-server cannot be seen from here"
	return c
}

// hasFlag reads options as Argo CD does, which splits them at blanks.
func hasFlag(options, flag string) bool {
	for _, option := range strings.Fields(options) {
		if option == flag || option == flag+"=true" {
			return true
		}
	}
	return false
}
