package dashboards

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/trainyard/trainyard/test/repo"
)

// checkTypes checks dashboards against the TypeScript types that Grafana publishes, and returns the errors as text.
func checkTypes(t *testing.T, boards map[string]json.RawMessage) string {
	t.Helper()
	input, err := json.Marshal(boards)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", repo.Path(t, "tools", "grafana-schema", "check.mjs"), repo.Path(t, ".tools", "grafana-schema"))
	cmd.Stdin = bytes.NewReader(input)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && stdout.Len() == 0 {
		t.Fatalf("checking dashboards: %v: run `make tools`\n%s", err, stderr.String())
	}
	return stdout.String()
}

func TestDashboardsMatchGrafanaTypes(t *testing.T) {
	if testing.Short() {
		t.Skip("the TypeScript compiler takes seconds")
	}
	boards := map[string]json.RawMessage{}
	for name, text := range shippedDashboards(t).texts {
		boards[name] = text
	}
	if errors := checkTypes(t, boards); errors != "" {
		t.Error(errors)
	}
	for name, change := range map[string][2]string{
		"wrong type of a dashboard field": {`"schemaVersion": 39`, `"schemaVersion": "39"`},
		"misspelt panel field":            {`"gridPos"`, `"gridpos"`},
		"invalid panel option":            {`"mode": "multi"`, `"mode": "all"`},
		"wrong type of a custom field":    {`"showPoints": "auto"`, `"showPoints": false`},
	} {
		boards[name] = []byte(strings.Replace(string(shippedDashboards(t).texts["trainjob"]), change[0], change[1], 1))
	}
	errors := checkTypes(t, boards)
	for name := range boards {
		_, valid := shippedDashboards(t).texts[name]
		if found := strings.Contains("\n"+errors, "\n"+name+":"); found == valid {
			t.Errorf("%s: errors found: %t, output:\n%s", name, found, errors)
		}
	}
}
