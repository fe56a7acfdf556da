package formats

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard/bundles"
	"github.com/trainyard/trainyard/test/repo"
)

type project struct {
	Spec struct {
		Destinations               []struct{ Namespace string }
		ClusterResourceWhitelist   []kind
		NamespaceResourceWhitelist []kind
	}
}

type kind struct{ Group, Kind string }

// TestProjectsAllowTheirObjects checks that each AppProject allows the objects of its bundle. If the AppProject forbids
// an object of the bundle, Argo CD refuses to sync the bundle.
func TestProjectsAllowTheirObjects(t *testing.T) {
	for name, file := range findExamples(t) {
		for environment, bundle := range generateBundles(t, read(t, file)) {
			if bundle.Delivery.ArgoCD == nil {
				continue
			}
			t.Run(filepath.Join(name, environment), func(t *testing.T) {
				dir := repo.Path(t, "bundles", "rendered", name, "argocd", environment, "argocd")
				expectAllowed(t, readProject(t, dir, bundle), bundle)
			})
		}
	}
}

func readProject(t *testing.T, dir string, bundle bundles.Bundle) (p project) {
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

// permitsNamespace reports whether an AppProject permits a namespace. A destination that begins with an exclamation
// mark forbids the namespaces that match the text after the mark. Source: the section "Managing Projects" of the
// page "Projects" in the documentation of Argo CD.
func (p project) permitsNamespace(t *testing.T, namespace string) bool {
	t.Helper()
	permitted := false
	for _, destination := range p.Spec.Destinations {
		pattern, forbids := strings.CutPrefix(destination.Namespace, "!")
		matches, err := path.Match(strings.ReplaceAll(pattern, "[!", "[^"), namespace)
		if err != nil {
			t.Fatal(err)
		}
		if forbids && matches {
			return false
		}
		permitted = permitted || matches
	}
	return permitted
}

// expectAllowed checks that the AppProject allows the namespace and the kind of each object, and forbids system namespaces
// such as kube-system. Kinds of cluster-scoped objects must be in clusterResourceWhitelist, and kinds of namespaced
// objects must be in namespaceResourceWhitelist.
func expectAllowed(t *testing.T, p project, bundle bundles.Bundle) {
	t.Helper()
	forbidden := []string{"kube-system", "kube-public", "argocd"}
	if bundle.Delivery.Target.OpenShift {
		forbidden = []string{"kube-system", "openshift-gitops", "openshift", "openshift-config", "openshift-ingress", "openshift-console", "openshift-cluster-version"}
	}
	for _, namespace := range forbidden {
		if p.permitsNamespace(t, namespace) {
			t.Errorf("the AppProject allows the namespace %s", namespace)
		}
	}
	for o := range bundle.Objects.All() {
		id := o.ID()
		if id.Namespace != "" && !p.permitsNamespace(t, id.Namespace) {
			t.Errorf("the AppProject forbids the namespace of %s", id)
		}
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
