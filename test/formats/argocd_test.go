package formats

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard/bundles"
	"github.com/trainyard/trainyard/test/repo"
)

// project is what an AppProject says of what its Applications may apply.
type project struct {
	Spec struct {
		Destinations               []struct{ Namespace string }
		ClusterResourceWhitelist   []kind
		NamespaceResourceWhitelist []kind
	}
}

type kind struct{ Group, Kind string }

// TestProjectsAllowTheirObjects: Argo CD does not see what a project forbids, so that it would be missing without a word.
func TestProjectsAllowTheirObjects(t *testing.T) {
	for name, file := range examples(t) {
		for environment, bundle := range generate(t, read(t, file)) {
			if bundle.Delivery.ArgoCD == nil {
				continue
			}
			t.Run(filepath.Join(name, environment), func(t *testing.T) {
				dir := repo.Path(t, "bundles", "rendered", name, "argocd", environment, "argocd")
				expectAllowed(t, projectIn(t, dir, bundle), bundle)
			})
		}
	}
}

// projectIn is the platform's own.
func projectIn(t *testing.T, dir string, bundle bundles.Bundle) (p project) {
	t.Helper()
	name := bundle.Platform
	if bundle.Environment != "" {
		name += "-" + bundle.Environment
	}
	text, err := os.ReadFile(filepath.Join(dir, "appproject-"+name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// expectAllowed: each object is of a kind of its scope, which is told by whether it has a namespace.
func expectAllowed(t *testing.T, p project, bundle bundles.Bundle) {
	t.Helper()
	for _, destination := range p.Spec.Destinations {
		if destination.Namespace != "*" {
			t.Errorf("it may apply to %s, want all namespaces", destination.Namespace)
		}
	}
	for o := range bundle.Objects.All() {
		id := o.ID()
		allowed, others := p.Spec.ClusterResourceWhitelist, p.Spec.NamespaceResourceWhitelist
		if id.Namespace != "" {
			allowed, others = others, allowed
		}
		is := kind{id.Group, id.Kind}
		if !slices.Contains(allowed, is) || slices.Contains(others, is) {
			t.Errorf("%s is not allowed, or not where objects of its scope are", id)
		}
	}
}
