package dashboards

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"cuelang.org/go/cue"
	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/grafana/panels"
	"github.com/trainyard/trainyard/test/repo"
)

// TestExportedIsCurrent checks that grafana/panels/panels.json has the content that the dashboards' CUE code exports.
// With TRAINYARD_UPDATE=1, the test writes panels.json and does not compare it.
func TestExportedIsCurrent(t *testing.T) {
	text, err := loadDashboards(t, trainyard.CUE).LookupPath(cue.ParsePath("exported")).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	if err := json.Indent(&want, text, "", " "); err != nil {
		t.Fatal(err)
	}
	want.WriteByte('\n')
	if os.Getenv("TRAINYARD_UPDATE") != "" {
		if err := os.WriteFile(repo.Path(t, "grafana", "panels", "panels.json"), want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want.String(), string(panels.JSON)); diff != "" {
		t.Errorf("grafana/panels/panels.json is out of date: run `make update`: -want +got:\n%s", diff)
	}
}

// TestExportedHasAllQueries checks that panels.json contains all queries of the dashboards, and no unknown fields.
func TestExportedHasAllQueries(t *testing.T) {
	all, err := panels.All()
	if err != nil {
		t.Fatal(err)
	}
	got, want := map[string][]string{}, map[string][]string{}
	for _, d := range all {
		for _, p := range d.Panels {
			for _, q := range p.Queries {
				got[d.Name] = append(got[d.Name], p.Title+": "+q.Expr)
			}
		}
	}
	for name, b := range shippedDashboards(t).grafana {
		for _, p := range b.Panels {
			for _, q := range p.Targets {
				want[name] = append(want[name], p.Title+": "+q.Expr)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("queries: -Grafana +exported:\n%s", diff)
	}
	var strict []panels.Dashboard
	decoder := json.NewDecoder(bytes.NewReader(panels.JSON))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&strict); err != nil {
		t.Error(err)
	}
}
