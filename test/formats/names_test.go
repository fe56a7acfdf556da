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

// similarNames is a platform document with similar names of environments and teams. If a hyphen joins the names of the
// environment "prod" and the team "eu-vision", the result is "prod-eu-vision". For the environment "prod-eu" and the
// team "vision", the result is the same.
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
  environments: {prod: {}, prod-eu: {delivery: {argocd: {cluster: prod-eu}}}}
`

// TestNamesForArgoCDAreOfOneEnvironment checks that Argo CD resources of different environments have different names,
// because one Argo CD can manage all environments. If two AppProjects had the same name, one AppProject would replace the
// other, and one team would get the rights of another team.
func TestNamesForArgoCDAreOfOneEnvironment(t *testing.T) {
	format, _ := bundles.Named("argocd")
	from := map[string]string{}
	environments := generateBundles(t, generator.Input{Name: "similarNames.yaml", Text: []byte(similarNames)})
	for _, environment := range slices.Sorted(maps.Keys(environments)) {
		for _, f := range renderBundle(t, format, environments[environment]).Files() {
			if !strings.HasPrefix(f.Path, "argocd/") || path.Base(f.Path) == "argocd-cm.yaml" {
				continue
			}
			if other, twice := from[f.Path]; twice {
				t.Errorf("the environments %[2]s and %[3]s both have %[1]s", f.Path, other, environment)
			}
			from[f.Path] = environment
		}
	}
	if len(from) != 2*8 { // each environment has 2 resources for the platform and 2 resources for each of 3 teams
		t.Errorf("%d objects for Argo CD: %s", len(from), slices.Sorted(maps.Keys(from)))
	}
}
