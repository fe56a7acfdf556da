package formats

import (
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/trainyard/trainyard/bundles"
	"github.com/trainyard/trainyard/generator"
)

// alike has environments and teams whose names, joined by a dash, would be those of others.
const alike = `
apiVersion: trainyard.dev/v1alpha1
kind: Platform
metadata: {name: acme}
spec:
  runtimes: {mpi: {from: openmpi-cpu, image: "quay.io/acme/openmpi:1"}}
  delivery: {argocd: {repoURL: "https://git.acme.example/platform.git"}}
  tenants:
    eu: {runtimes: [mpi], repositories: ["https://git.acme.example/eu.git"], applications: {folders: [jobs/*]}}
    vision: {runtimes: [mpi], repositories: ["https://git.acme.example/vision.git"], applications: {folders: [jobs/*]}}
    eu-vision: {runtimes: [mpi], repositories: ["https://git.acme.example/eu-vision.git"], applications: {folders: [jobs/*]}}
  environments: {prod: {}, prod-eu: {}}
`

// TestNamesForArgoCDAreOfOneEnvironment: what all environments give to one Argo CD does not meet. Of the same name, the last
// project that is applied would win, and a team would have what is another's.
func TestNamesForArgoCDAreOfOneEnvironment(t *testing.T) {
	format, _ := bundles.Named("argocd")
	from := map[string]string{}
	environments := generate(t, generator.Input{Name: "alike.yaml", Text: []byte(alike)})
	for _, environment := range slices.Sorted(maps.Keys(environments)) {
		for _, f := range rendered(t, format, environments[environment]).Files() {
			if !strings.HasPrefix(f.Path, "argocd/") || path.Base(f.Path) == "argocd-cm.yaml" {
				continue
			}
			if other, twice := from[f.Path]; twice {
				t.Errorf("%s is of %s and of %s", f.Path, other, environment)
			}
			from[f.Path] = environment
		}
	}
	if len(from) != 2*8 { // a project and an Application, and two for each team
		t.Errorf("%d objects for Argo CD: %s", len(from), slices.Sorted(maps.Keys(from)))
	}
}
