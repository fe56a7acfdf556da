package docs

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/test/repo"
)

const reference = "docs/platform.md"

// TestPlatformReferenceIsTrue: the page is what the schema says.
// TRAINYARD_UPDATE=1 writes it.
func TestPlatformReferenceIsTrue(t *testing.T) {
	fields, err := generator.New(trainyard.CUE).Reference()
	if err != nil {
		t.Fatal(err)
	}
	expectPage(t, reference, "schema", platformPage(fields))
}

// expectPage: a page of the documentation is what is written from its source. TRAINYARD_UPDATE=1 writes it.
func expectPage(t *testing.T, page, source, want string) {
	t.Helper()
	if os.Getenv("TRAINYARD_UPDATE") != "" {
		if err := os.WriteFile(repo.Path(t, page), []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(repo.Path(t, page))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("run `make update` and review: -%s +%s:\n%s", source, page, diff)
	}
}

func platformPage(fields []generator.Field) string {
	var b strings.Builder
	b.WriteString(`# The platform document

A platform is described by one document, YAML, JSON or CUE, of at most 1 MiB for each of its
[layers](documents.md). ` + "`trainyard vet`" + ` checks it and reports every problem at once. This page is written from the schema (` + "`schemas/platform`" + `) by ` + "`make update`" + `.

NAME stands for a key that you choose, [] for an item of a list. Fields in **bold** are required in the mapping that holds them.

| field | value | meaning |
|---|---|---|
`)
	for _, f := range fields {
		path := "`" + f.Path + "`"
		if f.Required {
			path = "**" + path + "**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", path, cell(f.Want), cell(f.Doc))
	}
	return b.String()
}

// cell escapes what would end a table's cell or start an element.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(text)
}
