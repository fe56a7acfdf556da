package dashboards

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/trainyard/trainyard/test/repo"
)

// checkTypes holds dashboards against the types that Grafana publishes, and returns what is wrong.
func checkTypes(t *testing.T, boards map[string]json.RawMessage) string {
	t.Helper()
	input, err := json.Marshal(boards)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", repo.Path(t, "tools", "grafana-schema", "check.mjs"), repo.Path(t, ".tools", "grafana-schema"))
	cmd.Stdin = bytes.NewReader(input)
	var said, failed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &failed
	if err := cmd.Run(); err != nil && said.Len() == 0 {
		t.Fatalf("holding dashboards against Grafana's types: %v: run `make tools`\n%s", err, failed.String())
	}
	return said.String()
}

// TestGrafanaKnowsAllFields: dashboards and the options of their panels are what Grafana says they are.
func TestGrafanaKnowsAllFields(t *testing.T) {
	if testing.Short() {
		t.Skip("a compiler takes seconds")
	}
	boards := map[string]json.RawMessage{}
	for name, text := range ours(t).texts {
		boards[name] = text
	}
	if said := checkTypes(t, boards); said != "" {
		t.Error(said)
	}
	for wrong, change := range map[string][2]string{
		"of a dashboard":       {`"schemaVersion": 39`, `"schemaVersion": "39"`},
		"of a panel":           {`"gridPos"`, `"gridpos"`},
		"of a panel's options": {`"mode": "multi"`, `"mode": "all"`},
		"of how it is drawn":   {`"showPoints": "auto"`, `"showPoints": false`},
	} {
		boards[wrong] = []byte(strings.Replace(string(ours(t).texts["trainjob"]), change[0], change[1], 1))
	}
	said := checkTypes(t, boards)
	for name := range boards {
		_, good := ours(t).texts[name]
		if found := strings.Contains("\n"+said, "\n"+name+":"); found == good {
			t.Errorf("%s: found something wrong: %t:\n%s", name, found, said)
		}
	}
}
