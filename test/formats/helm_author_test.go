package formats

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trainyard/trainyard/bundles"
)

// decidedSettings contains those settings of tenants that only the author of the document decides. The user of a chart
// cannot change these settings. Each key is a text that names a setting. In the file values.schema.json, the top-level
// field "description" must contain this text. Each value lists the fields of the document that belong to the setting.
var decidedSettings = map[string][]string{
	"namespaces": {"namespace"}, "isolation": {"isolation"}, "the runtimes of a tenant": {"runtimes"}, "quotas of GPUs and pods": {"nvidia.com/gpu", "pods"},
}

// TestSchemaNamesWhoDecides checks the description in a chart's values schema. The description must contain the text
// "the author of the platform document", and name the settings in decidedSettings. The chart must not have values for
// these settings.
func TestSchemaNamesWhoDecides(t *testing.T) {
	eachChart(t, func(t *testing.T, _, dir string, bundle bundles.Bundle) {
		text, err := os.ReadFile(filepath.Join(dir, "values.schema.json"))
		if err != nil {
			t.Fatal(err)
		}
		var schema struct{ Description string }
		if err := json.Unmarshal(text, &schema); err != nil {
			t.Fatal(err)
		}
		if author := "the author of the platform document"; !strings.Contains(schema.Description, author) {
			t.Errorf("the description is %q, want it to name %s", schema.Description, author)
		}
		for name, keys := range decidedSettings {
			if !strings.Contains(schema.Description, name) {
				t.Errorf("the description is %q, want it to name %s", schema.Description, name)
			}
			for _, key := range parameterKeys(bundle, "") {
				for _, decided := range keys {
					if strings.HasPrefix(key, "spec.tenants.") && strings.Contains(key+".", "."+decided+".") {
						t.Errorf("%s is a value of the chart, and the description names it as a decision of the author", key)
					}
				}
			}
		}
	})
}
