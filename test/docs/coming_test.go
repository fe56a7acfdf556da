package docs

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/trainyard/trainyard/test/grafanadata"
	"github.com/trainyard/trainyard/test/repo"
)

// comingNote is a sentence in the runbook of each alert that cannot fire yet.
const comingNote = "This alert is coming: trainyard's controller does not export its metrics yet, so the alert cannot fire."

var metricPattern = regexp.MustCompile(`[a-zA-Z_:][a-zA-Z0-9_:]*`)

// isComing reports whether an expression needs a metric that the controller does not export yet, directly or through
// recording rules.
func isComing(g grafanadata.Grafana, expr string) bool {
	return slices.ContainsFunc(metricPattern.FindAllString(expr, -1), func(name string) bool {
		record, recorded := g.Records[name]
		return grafanadata.IsComing(name) || recorded && isComing(g, record.Expr)
	})
}

// controllerCell returns the text of the table cell that says whether a rule needs the controller.
func controllerCell(g grafanadata.Grafana, needed bool, expr string) string {
	if needed && isComing(g, expr) {
		return "coming"
	}
	return yesCell(needed)
}

// TestRunbooksSayWhatIsComing checks that exactly the runbooks of the alerts that cannot fire yet say so.
func TestRunbooksSayWhatIsComing(t *testing.T) {
	g, err := grafanadata.Read("runbooks")
	if err != nil {
		t.Fatal(err)
	}
	coming := 0
	for _, name := range slices.Sorted(maps.Keys(g.Alerts)) {
		text, err := os.ReadFile(repo.Path(t, "docs/runbooks", name+".md"))
		if err != nil {
			t.Fatal(err)
		}
		alert := g.Alerts[name]
		want := alert.Controller && isComing(g, alert.Expr)
		if want {
			coming++
		}
		if got := strings.Contains(string(text), comingNote); got != want {
			t.Errorf("docs/runbooks/%s.md says that the alert is coming: %t, want %t", name, got, want)
		}
	}
	if coming == 0 {
		t.Error("no alert is coming: remove this test")
	}
}
