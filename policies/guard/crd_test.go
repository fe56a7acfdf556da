package guard

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard/test/repo"
)

// TestFieldsAreThoseOfTrainer compares guard's schemas of the spec with Trainer's CRD of TrainJobs. Each field that the
// schemas allow must exist in the CRD. Each field of the CRD must be in the schemas, either as allowed or as forbidden.
// However, fields of two groups may be missing in the schemas. The first group contains the types of Kubernetes
// volumes, such as iscsi. This group also contains the fields of a projected volume, and the types of its sources. The
// second group contains the fields of valueFrom in environment variables. RuleDisallowedVolume and
// RuleDisallowedVariableSource refuse all fields of these groups that the schemas do not list.
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

func compareFields(t *testing.T, path string, guarded fieldSchema, schema apiextensions.JSONSchemaProps) {
	t.Helper()
	switch guarded := guarded.(type) {
	case list:
		if schema.Items == nil {
			t.Errorf("%s is a list in this package, but not in the CRD of Trainer", path)
			return
		}
		if diff := cmp.Diff(schema.XListMapKeys, slices.DeleteFunc([]string{guarded.key}, func(key string) bool { return key == "" }), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: keys of the list: -Trainer +guard:\n%s", path, diff)
		}
		if limit := ptr.Deref(schema.MaxItems, 0); int64(guarded.max) != limit && !strings.HasSuffix(t.Name(), "/2.1") {
			t.Errorf("%s: got at most %d items, want at most %d", path, guarded.max, limit)
		}
		compareFields(t, path+"[]", guarded.of, *schema.Items.Schema)
	case mapping:
		if schema.AdditionalProperties == nil {
			t.Errorf("%s is a mapping in this package, but not in the CRD of Trainer", path)
		}
	case scalar:
		if guarded.valid("") != (schema.MinLength == nil) && guarded.wanted == name.wanted {
			t.Errorf("%s: want a name that is not empty in Trainer, too", path)
		}
	case object:
		compareObject(t, path, guarded, schema)
	}
}

func compareObject(t *testing.T, path string, guarded object, schema apiextensions.JSONSchemaProps) {
	t.Helper()
	if diff := cmp.Diff(schema.Required, slices.Sorted(slices.Values(guarded.required)), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s: required fields: -Trainer +guard:\n%s", path, diff)
	}
	for _, key := range guarded.allowedNames() {
		below, ok := schema.Properties[key]
		if !ok {
			t.Errorf("%s: this package allows the field %s, but Trainer has no such field", path, key)
			continue
		}
		compareFields(t, path+"."+key, guarded.fields[key], below)
	}
	if guarded.rule == RuleDisallowedVolume || guarded.rule == RuleDisallowedVariableSource {
		return // no review is needed: these rules refuse all fields that this package does not list
	}
	for _, key := range slices.Sorted(maps.Keys(schema.Properties)) {
		if _, ok := guarded.fields[key]; !ok {
			t.Errorf("%s: the field %s of Trainer is not reviewed", path, key)
		}
	}
}
