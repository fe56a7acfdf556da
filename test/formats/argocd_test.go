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

// project contains the fields of an AppProject that limit its Applications.
type project struct {
	Spec struct {
		Destinations               []struct{ Namespace string }
		ClusterResourceWhitelist   []kind
		NamespaceResourceWhitelist []kind
	}
}

type kind struct{ Group, Kind string }

// TestProjectsAllowTheirObjects checks that the AppProject of a platform allows every object of the platform. Argo CD
// silently ignores objects that an AppProject forbids.
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

// projectIn reads the AppProject of the platform.
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

// expectAllowed checks that the AppProject allows the kind of each object. Kinds of cluster-scoped objects must be in
// clusterResourceWhitelist, and kinds of namespaced objects in namespaceResourceWhitelist.
func expectAllowed(t *testing.T, p project, bundle bundles.Bundle) {
	t.Helper()
	for _, destination := range p.Spec.Destinations {
		if destination.Namespace != "*" {
			t.Errorf("the AppProject allows namespace %s, want all namespaces", destination.Namespace)
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
			t.Errorf("the AppProject does not list %s, or lists it with the wrong scope", id)
		}
	}
}
