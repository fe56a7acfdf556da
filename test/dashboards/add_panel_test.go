package dashboards

import (
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"cuelang.org/go/cue"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/grafana/panels"
	"github.com/trainyard/trainyard/test/repo"
)

// TestPanelIsOneStruct adds the example file of docs/dashboards.md to the CUE module. The panel in the example
// file must appear in the dashboards of Grafana, the OpenShift console and Perses, and in panels.json.
func TestPanelIsOneStruct(t *testing.T) {
	const file = "grafana/dashboards/gpu_hours.cue"
	module := withFile(t, file, documentedFile(t, file))
	r := render(t, module)
	const title, metric = "GPU hours in a day", "trainyard:namespace_gpus_requested:sum"
	waste := r.grafana["waste"]
	if p := waste.panel(title); p.ID == 0 || p.GridPos.W == 0 || !strings.Contains(p.Targets[0].Expr, metric) {
		t.Errorf("Grafana: got panel %+v, want the panel of the added file", p)
	}
	if !slices.ContainsFunc(r.openshift["waste"].Rows[0].Panels, func(p consolePanel) bool { return p.Title == title && p.Type == "singlestat" }) {
		t.Errorf("OpenShift console: got row %+v, want the panel of the added file in it", r.openshift["waste"].Rows[0])
	}
	if p := r.perses["waste"].Panels["now_gpu-hours"]; p.Spec.Display.Name != title || p.Spec.Plugin.Kind != "StatChart" {
		t.Errorf("Perses: got panel %+v, want the panel of the added file", p)
	}
	var exported []panels.Dashboard
	read(t, loadDashboards(t, module).LookupPath(cue.ParsePath("exported")), &exported)
	if !slices.ContainsFunc(exported, func(d panels.Dashboard) bool {
		return slices.ContainsFunc(d.Panels, func(p panels.Panel) bool { return p.Key == "now/gpu-hours" })
	}) {
		t.Error("panels.json lacks the panel")
	}
	for rule, check := range dashboardRules {
		for _, f := range check("waste", waste) {
			// The rule "target-rate-interval" requires the interval $__rate_interval in queries. The panel violates
			// this rule, because its query uses an interval of one day, as docs/dashboards.md explains. If the panel
			// violates another rule, the file grafana/.lint must contain an exclusion.
			excluded := rule == "target-rate-interval" || slices.ContainsFunc(readExclusions(t)[rule], func(e exclusion) bool { return e.covers("waste", f) })
			if f.panel == title && !excluded {
				t.Errorf("%s: %s", rule, f.message)
			}
		}
	}
}

func documentedFile(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(repo.Path(t, "docs", "dashboards.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(text), "```cue file="+file+"\n")
	if !found {
		t.Fatalf("docs/dashboards.md does not show %s", file)
	}
	content, _, _ := strings.Cut(after, "```")
	return content
}

func withFile(t *testing.T, name, text string) fs.FS {
	t.Helper()
	module := fstest.MapFS{name: {Data: []byte(text)}}
	err := fs.WalkDir(trainyard.CUE, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(trainyard.CUE, path)
		module[path] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return module
}
