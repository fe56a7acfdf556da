package prometheus

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/test/observed"
	"github.com/trainyard/trainyard/test/repo"
)

var heading = regexp.MustCompile(`(?m)^## (.*)\n\n\S`)

// TestAlertsHaveRunbooks: each alert has a page, with the four parts that OpenShift asks for, and each page an alert.
func TestAlertsHaveRunbooks(t *testing.T) {
	files, err := filepath.Glob(repo.Path(t, "docs/runbooks/*.md"))
	if err != nil {
		t.Fatal(err)
	}
	var pages []string
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".md")
		pages = append(pages, name)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var parts []string
		for _, m := range heading.FindAllStringSubmatch(string(text), -1) {
			parts = append(parts, m[1])
		}
		if diff := cmp.Diff([]string{"Meaning", "Impact", "Diagnosis", "Mitigation"}, parts); diff != "" {
			t.Errorf("%s: parts that say something: -want +got:\n%s", file, diff)
		}
		if !strings.HasPrefix(string(text), "# "+name+"\n") {
			t.Errorf("%s is not called what the alert is", file)
		}
	}
	if diff := cmp.Diff(observed.Sorted(grafana(t).Alerts), pages); diff != "" {
		t.Errorf("alerts have no page, or pages no alert: -alerts +docs/runbooks:\n%s", diff)
	}
}
