package docs

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/test/repo"
)

const reference = "docs/platform.md"

func TestPlatformReferenceIsUpToDate(t *testing.T) {
	page, err := generator.New(trainyard.CUE).Schema("markdown", false)
	if err != nil {
		t.Fatal(err)
	}
	expectPage(t, reference, "schema", string(page))
}

// expectPage checks that a page of the documentation equals the generated text "want". With TRAINYARD_UPDATE=1,
// expectPage writes the page.
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

func escapeCell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(text)
}
