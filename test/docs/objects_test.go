package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/test/repo"
)

// objectName contains the kind and the name of a generated object, or the kind and the name in a table row of
// docs/objects.md. The name in a table row can end with NAME. NAME stands for any text that the author of a platform
// document chooses.
type objectName struct{ kind, name string }

func TestObjectsPageListsAllObjects(t *testing.T) {
	rows, used := listedObjects(t), map[objectName]bool{}
	for object := range generatedObjects(t) {
		row := slices.IndexFunc(rows, object.matches)
		if row < 0 {
			t.Errorf("docs/objects.md has no row for %s %s", object.kind, object.name)
			continue
		}
		used[rows[row]] = true
	}
	for _, row := range rows {
		if !used[row] {
			t.Errorf("docs/objects.md has a row for %s %s, and no example has such an object", row.kind, row.name)
		}
	}
}

func (o objectName) matches(row objectName) bool {
	prefix, isPattern := strings.CutSuffix(row.name, "NAME")
	return o.kind == row.kind && (o.name == row.name || isPattern && strings.HasPrefix(o.name, prefix))
}

var rowPattern = regexp.MustCompile(`(?m)^\| ([A-Z][A-Za-z, ]*) \| ([A-Za-z.-]+) \|`)

// listedObjects returns the rows of docs/objects.md: first the rows with exact names, and then the rows with names that
// end with NAME. The test uses the first row that matches an object, so it prefers exact names.
func listedObjects(t *testing.T) []objectName {
	t.Helper()
	page, err := os.ReadFile(repo.Path(t, "docs/objects.md"))
	if err != nil {
		t.Fatal(err)
	}
	var exact, patterns []objectName
	for _, row := range rowPattern.FindAllStringSubmatch(string(page), -1) {
		for kind := range strings.SplitSeq(row[1], ", ") {
			if strings.HasSuffix(row[2], "NAME") {
				patterns = append(patterns, objectName{kind, row[2]})
			} else {
				exact = append(exact, objectName{kind, row[2]})
			}
		}
	}
	return append(exact, patterns...)
}

func generatedObjects(t *testing.T) map[objectName]bool {
	t.Helper()
	objects := map[objectName]bool{}
	for _, file := range repo.Files(t) {
		if !strings.HasPrefix(file, "bundles/rendered/") || !strings.Contains(file, "/plain/") || filepath.Base(file) != "manifests.yaml" {
			continue
		}
		text, err := os.ReadFile(repo.Path(t, file))
		if err != nil {
			t.Fatal(err)
		}
		for document := range strings.SplitSeq(string(text), "\n---\n") {
			var object struct {
				Kind     string
				Metadata struct{ Name string }
			}
			if err := yaml.Unmarshal([]byte(document), &object); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			objects[objectName{object.Kind, object.Metadata.Name}] = true
		}
	}
	platforms, err := generator.New(trainyard.CUE).Generate(t.Context(), generator.Request{Layers: []generator.Input{
		{Name: "minimal.yaml", Text: []byte(withController)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for object := range platforms[0].Objects.All() {
		objects[objectName{object.ID().Kind, object.ID().Name}] = true
	}
	return objects
}

const withController = `
apiVersion: trainyard.dev/v1alpha1
kind: Platform
metadata: {name: controller}
spec:
  controller: {enabled: true}
  runtimes: {mpi: {from: openmpi-cpu, image: "quay.io/acme/openmpi:4.1.6"}}
  tenants: {team-a: {runtimes: [mpi], quota: {pods: 10}, sources: {jobs: {url: "https://git.acme.example/jobs.git"}}}}
`
