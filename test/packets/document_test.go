//go:build linux

package packets

import (
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/test/repo"
)

// pagePath is the path of a page that contains platform documents. The page also contains a table of the connections
// that the first document allows.
const pagePath = "docs/networks.md"

// anyPort and pinned are the file names of two platform documents. The tests read the documents
// from the code blocks with these file names in docs/networks.md.
const (
	anyPort = "/tmp/networks.yaml"
	pinned  = "/tmp/ports.yaml"
)

func readPage(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(repo.Path(t, pagePath))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// objectsByKind reads a platform document from docs/networks.md, generates the objects of the document, and returns
// the objects by kind.
func objectsByKind(t *testing.T, file string) map[string][]client.Object {
	t.Helper()
	_, rest, found := strings.Cut(readPage(t), "```yaml file="+file+"\n")
	document, _, closed := strings.Cut(rest, "```\n")
	if !found || !closed {
		t.Fatalf("%s has no document %s", pagePath, file)
	}
	platforms, err := generator.New(trainyard.CUE).Generate(t.Context(), generator.Request{
		Layers: []generator.Input{{Name: pagePath, Text: []byte(document)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	byKind := map[string][]client.Object{}
	for o := range platforms[0].Objects.All() {
		u := &unstructured.Unstructured{Object: o.Fields()}
		byKind[u.GetKind()] = append(byKind[u.GetKind()], u)
	}
	return byKind
}

const tableHead = "| from | reaches |\n|---|---|\n"

// expectTable checks the table in docs/networks.md, or replaces it if TRAINYARD_UPDATE=1 is set.
func expectTable(t *testing.T, got string) {
	t.Helper()
	text := readPage(t)
	before, rest, found := strings.Cut(text, tableHead)
	want, after, closed := strings.Cut(rest, "\n\n")
	if !found || !closed {
		t.Fatalf("%s has no table", pagePath)
	}
	if want+"\n" == got {
		return
	}
	if os.Getenv("TRAINYARD_UPDATE") == "" {
		t.Errorf("the connections differ from the table of %s, got:\n%s", pagePath, got)
		return
	}
	if err := os.WriteFile(repo.Path(t, pagePath), []byte(before+tableHead+got+"\n"+after), 0o600); err != nil {
		t.Fatal(err)
	}
}
