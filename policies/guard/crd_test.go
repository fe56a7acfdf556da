package guard

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard/test/repo"
)

// TestFieldsAreThoseOfTrainer holds the tables of fields against the CRD of each version: what we
// know must be there, and what is there must have been decided on.
func TestFieldsAreThoseOfTrainer(t *testing.T) {
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			reader, err := ReaderFor(version)
			if err != nil {
				t.Fatal(err)
			}
			schema := trainJobSchema(t, version)
			compareFields(t, "spec", reader.trainJob.(object).fields["spec"], schema.Properties["spec"])
		})
	}
}

func trainJobSchema(t *testing.T, version string) *apiextensions.JSONSchemaProps {
	t.Helper()
	cmd := exec.Command("go", "mod", "download", "-json", "github.com/kubeflow/trainer/v2")
	cmd.Dir = repo.Path(t, "tools", "trainer-"+version)
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	var module struct{ Dir string }
	if err == nil {
		err = json.Unmarshal(out, &module)
	}
	if err != nil {
		t.Fatalf("finding Trainer %s: %v", version, err)
	}
	text, err := os.ReadFile(filepath.Join(module.Dir, "manifests", "base", "crds", "trainer.kubeflow.org_trainjobs.yaml"))
	var crd apiextensions.CustomResourceDefinition
	if err == nil {
		err = yaml.Unmarshal(text, &crd)
	}
	if err != nil {
		t.Fatalf("reading the CRD of Trainer %s: %v", version, err)
	}
	return crd.Spec.Versions[0].Schema.OpenAPIV3Schema
}

func compareFields(t *testing.T, path string, ours shape, schema apiextensions.JSONSchemaProps) {
	t.Helper()
	switch ours := ours.(type) {
	case list:
		if schema.Items == nil {
			t.Errorf("%s is a list here, and none in Trainer", path)
			return
		}
		compareFields(t, path+"[]", ours.of, *schema.Items.Schema)
	case mapping:
		if schema.AdditionalProperties == nil {
			t.Errorf("%s is a mapping here, and none in Trainer", path)
		}
	case object:
		compareObject(t, path, ours, schema)
	}
}

func compareObject(t *testing.T, path string, ours object, schema apiextensions.JSONSchemaProps) {
	t.Helper()
	for _, key := range ours.allowed() {
		below, ok := schema.Properties[key]
		if !ok {
			t.Errorf("%s: Trainer has no field %s", path, key)
			continue
		}
		compareFields(t, path+"."+key, ours.fields[key], below)
	}
	if ours.rule == RulePatchVolumes || ours.rule == RuleEnvSources {
		return // the other kinds are refused, whatever they are
	}
	for _, key := range slices.Sorted(maps.Keys(schema.Properties)) {
		if _, ok := ours.fields[key]; !ok {
			t.Errorf("%s: nobody has decided on the field %s of Trainer", path, key)
		}
	}
}
