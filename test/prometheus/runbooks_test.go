package prometheus

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/test/grafanadata"
	"github.com/trainyard/trainyard/test/repo"
)

var heading = regexp.MustCompile(`(?m)^## (.*)\n\n\S`)

// TestAlertsHaveRunbooks checks that each alert has a runbook with the four sections that OpenShift recommends, and
// that each runbook belongs to an alert.
func TestAlertsHaveRunbooks(t *testing.T) {
	files, err := filepath.Glob(repo.Path(t, "docs/runbooks/*.md"))
	if err != nil {
		t.Fatal(err)
	}
	var runbooks []string
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".md")
		runbooks = append(runbooks, name)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var sections []string
		for _, m := range heading.FindAllStringSubmatch(string(text), -1) {
			sections = append(sections, m[1])
		}
		if diff := cmp.Diff([]string{"Meaning", "Impact", "Diagnosis", "Mitigation"}, sections); diff != "" {
			t.Errorf("%s: sections with content: -want +got:\n%s", file, diff)
		}
		if !strings.HasPrefix(string(text), "# "+name+"\n") {
			t.Errorf("%s: the title is not the alert's name", file)
		}
	}
	if diff := cmp.Diff(grafanadata.Sorted(grafana(t).Alerts), runbooks); diff != "" {
		t.Errorf("alerts and runbooks differ: -alerts +docs/runbooks:\n%s", diff)
	}
}

// xidRow matches the Xids (error numbers of NVIDIA's driver) in a row of a table.
var xidRow = regexp.MustCompile(`(?m)^\| ([0-9, ]+) \|`)

func TestRunbookListsXids(t *testing.T) {
	text, err := os.ReadFile(repo.Path(t, "docs/runbooks/TrainyardGPUXid.md"))
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, m := range xidRow.FindAllStringSubmatch(string(text), -1) {
		listed = append(listed, strings.Split(m[1], ", ")...)
	}
	slices.Sort(listed)
	if diff := cmp.Diff(grafanadata.Sorted(grafana(t).Xids), listed); diff != "" {
		t.Errorf("Xids: -alert +runbook:\n%s", diff)
	}
}
