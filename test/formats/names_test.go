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

// similarNames has environments and teams with names that would be equal if a dash joined them.
const similarNames = `
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

// TestNamesForArgoCDAreOfOneEnvironment checks that the resources of all environments have different names in one Argo CD. With equal names, the
// last applied project would win, and give one team the rights of another.
func TestNamesForArgoCDAreOfOneEnvironment(t *testing.T) {
	format, _ := bundles.Named("argocd")
	from := map[string]string{}
	environments := generate(t, generator.Input{Name: "similarNames.yaml", Text: []byte(similarNames)})
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
