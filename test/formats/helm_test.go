package formats

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/bundles"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/generator/problem"
	"github.com/trainyard/trainyard/test/repo"
)

// helmVersions are those that charts are for.
var helmVersions = []string{"helm-3", "helm-4"}

// eachChart calls a test with the chart of each environment of each example.
func eachChart(t *testing.T, test func(t *testing.T, file, dir string, bundle bundles.Bundle)) {
	t.Helper()
	format, _ := bundles.Named("helm")
	for name, file := range examples(t) {
		for environment, bundle := range generate(t, read(t, file)) {
			t.Run(path.Join(name, environment), func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "chart")
				if _, err := rendered(t, format, bundle).WriteDir(dir, false); err != nil {
					t.Fatal(err)
				}
				test(t, file, dir, bundle)
			})
		}
	}
}

// valuesOf is a file with values for parameters, as a chart has them.
func valuesOf(t *testing.T, values map[string]any) string {
	t.Helper()
	root := map[string]any{}
	for key, value := range values {
		plant(root, strings.Split(strings.TrimPrefix(key, "spec."), "."), value)
	}
	return valuesFile(t, root)
}

func valuesFile(t *testing.T, values any) string {
	t.Helper()
	text, err := yaml.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// plant puts a value into a tree.
func plant(at map[string]any, steps []string, value any) {
	for _, step := range steps[:len(steps)-1] {
		below, _ := at[step].(map[string]any)
		if below == nil {
			below = map[string]any{}
			at[step] = below
		}
		at = below
	}
	at[steps[len(steps)-1]] = value
}

// TestChartsAreClean: Helm's own linter finds nothing to say.
func TestChartsAreClean(t *testing.T) {
	eachChart(t, func(t *testing.T, _, dir string, _ bundles.Bundle) {
		for _, helm := range helmVersions {
			said := string(run(t, exec.Command(repo.Tool(t, helm), "lint", "--strict", dir)))
			if strings.Contains(said, "[WARNING]") || !strings.Contains(said, "0 chart(s) failed") {
				t.Errorf("%s:\n%s", helm, said)
			}
		}
	})
}

// TestValuesSayWhatTheDocumentSays: a chart with other values for all parameters is the document with them.
func TestValuesSayWhatTheDocumentSays(t *testing.T) {
	eachChart(t, func(t *testing.T, file, dir string, bundle bundles.Bundle) {
		values := changed(t, bundle)
		other := generate(t, read(t, file), overlay(t, bundle, values))[path.Join(".", bundle.Environment)]
		want := map[string]string{}
		for o := range other.Objects.All() {
			text, err := o.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			want[o.ID().String()] = canonical(t, text)
		}
		for _, helm := range helmVersions {
			if diff := cmp.Diff(want, objects(t, helmTemplate(t, helm, dir, "-f", valuesOf(t, values)))); diff != "" {
				t.Errorf("%s: -of the document +of the chart:\n%.4000s", helm, diff)
			}
		}
	})
}

// odd are values of which most parameters admit none, and some a few.
var odd = []any{
	-1, 0, 1, 1.5, 0.0001, 7, 1024, 1025, 1e9, 1e10, "", " ", "a b", "Always", "always", "UPPER/case:1", "quay.io/acme/mpi:1", "mpi", "1", "0", "-1", "1500m", "0.5",
	"1Gi", "1G", "1gb", "1Ei", "10x", "1e3", "99999999999Gi", "true", true, false, []any{}, []any{"a"}, map[string]any{}, map[string]any{"a": 1}, "a\nb", "é", "a\u202eb", "a\u0000b", strings.Repeat("a", 3000),
}

// TestSchemaOfValuesRefusesWhatTheDocumentMayNotSay: over odd values, all parameters at a time, the schema of a
// chart's values admits what our CUE admits for the field. Rules that look at several values are not among them, for which
// all others are odd here, too.
func TestSchemaOfValuesRefusesWhatTheDocumentMayNotSay(t *testing.T) {
	eachChart(t, func(t *testing.T, file, dir string, bundle bundles.Bundle) {
		text, err := os.ReadFile(filepath.Join(dir, "values.schema.json"))
		if err != nil {
			t.Fatal(err)
		}
		schema := compiled(t, text)
		admitted, refused := 0, 0
		for _, value := range odd {
			judged := document(t, file, bundle, value)
			for _, key := range keysOf(bundle, "") {
				values := defaults(t, dir)
				plant(values, strings.Split(strings.TrimPrefix(key, "spec."), "."), value)
				said := schema.Validate(decoded(t, values))
				if (said == nil) == judged[key] {
					t.Errorf("%s: %v: the document refuses it: %v; the chart says %v", key, value, judged[key], said)
				}
				if said == nil {
					admitted++
				} else {
					refused++
				}
			}
		}
		if admitted < 20 || refused < 100 {
			t.Errorf("%d values admitted and %d refused: too few to say anything", admitted, refused)
		}
	})
}

// document tells at which parameters a document with the same value for all of them is refused for what the value is.
func document(t *testing.T, file string, bundle bundles.Bundle, value any) map[string]bool {
	t.Helper()
	values := map[string]any{}
	for _, key := range keysOf(bundle, "") {
		values[key] = value
	}
	refused := map[string]bool{}
	for _, p := range problemsWith(t, file, bundle, values) {
		at := strings.Replace(p.Path, "spec.environments."+bundle.Environment+".", "spec.", 1)
		if slices.Contains([]string{"wrong-value", "unknown-key", "missing-key", "defaults-respect-the-limits"}, p.Rule.Name) {
			for key := range values {
				refused[key] = refused[key] || key == at || strings.HasPrefix(at, key+".") || strings.HasPrefix(key, at+".")
			}
		}
	}
	return refused
}

// problemsWith are those of a document with other values.
func problemsWith(t *testing.T, file string, bundle bundles.Bundle, values map[string]any) problem.List {
	t.Helper()
	request := generator.Request{Layers: []generator.Input{read(t, file), overlay(t, bundle, values)}}
	if bundle.Environment != "" {
		request.Environments = []string{bundle.Environment}
	}
	_, err := generator.New(trainyard.CUE).Generate(t.Context(), request)
	var problems problem.List
	if err != nil && !errors.As(err, &problems) {
		t.Fatalf("%v: %v", values, err)
	}
	return problems
}

// defaults are a chart's own values.
func defaults(t *testing.T, dir string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	if err := yaml.Unmarshal(text, &values); err != nil {
		t.Fatal(err)
	}
	return values
}

// waysOut are what charts are expected to let their users change besides, and how objects are told to have changed.
var waysOut = map[string]struct {
	values map[string]any
	change func(id string, o map[string]any) // what an object becomes; one without fields is gone
	more   []string                          // objects that come
}{
	"a mirror has all images": {
		values: map[string]any{"imageRegistry": "mirror.example:5000/quay/"},
		change: func(_ string, o map[string]any) { mirrored(o, "mirror.example:5000/quay/") },
	},
	"a chart above says where the mirror is": {
		values: map[string]any{"global": map[string]any{"imageRegistry": "mirror.example", "storageClass": "fast"}},
		change: func(_ string, o map[string]any) { mirrored(o, "mirror.example/") },
	},
	"all objects get labels and annotations": {
		values: map[string]any{"commonLabels": map[string]any{"acme.example/cost": "42"}, "commonAnnotations": map[string]any{"acme.example/owner": "{{ hpc }} \"team\""}},
		change: func(_ string, o map[string]any) {
			plant(o, []string{"metadata", "labels", "acme.example/cost"}, "42")
			plant(o, []string{"metadata", "annotations", "acme.example/owner"}, "{{ hpc }} \"team\"")
		},
	},
	"parts are left out": {
		values: map[string]any{"components": map[string]any{"quota": false, "networkpolicy": false}},
		change: func(id string, o map[string]any) {
			if kind, _, _ := strings.Cut(id, " "); slices.Contains([]string{"ResourceQuota", "LimitRange", "NetworkPolicy"}, kind) {
				clear(o)
			}
		},
	},
	"objects come": {
		values: map[string]any{"extraObjects": []any{
			map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "{{ .Release.Name }}-more"}},
			"apiVersion: v1\nkind: Secret\nmetadata:\n  name: {{ .Chart.Name }}",
		}},
		change: func(string, map[string]any) {},
		more:   []string{"ConfigMap release-more", "Secret acme-prod"},
	},
}

// mirrored changes what an object says of images.
func mirrored(o map[string]any, mirror string) {
	for key, value := range o {
		switch value := value.(type) {
		case map[string]any:
			mirrored(value, mirror)
		case []any:
			for _, item := range value {
				if below, is := item.(map[string]any); is {
					mirrored(below, mirror)
				}
			}
		case string:
			if key == "image" || strings.HasSuffix(key, ".image") {
				_, image, _ := strings.Cut(value, "/")
				o[key] = mirror + image
			}
		}
	}
}

func TestChartsHaveWaysOut(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "chart")
	acme(t, dir)
	for name, test := range waysOut {
		for _, helm := range helmVersions {
			t.Run(name+" with "+helm, func(t *testing.T) {
				want := map[string]string{}
				for id, text := range objects(t, helmTemplate(t, helm, dir)) {
					var o map[string]any
					if err := json.Unmarshal([]byte(text), &o); err != nil {
						t.Fatal(err)
					}
					if test.change(id, o); len(o) > 0 {
						want[id] = canonical(t, []byte(asJSON(t, o)))
					}
				}
				got := objects(t, helmTemplate(t, helm, dir, "-f", valuesFile(t, test.values)))
				for _, id := range test.more {
					if got[id] == "" {
						t.Errorf("no %s", id)
					}
					delete(got, id)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("-want +got:\n%.4000s", diff)
				}
			})
		}
	}
}

// acme writes the chart of an example.
func acme(t *testing.T, dir string) {
	t.Helper()
	format, _ := bundles.Named("helm")
	bundle := generate(t, read(t, "examples/acme/platform.yaml"))["prod"]
	if _, err := rendered(t, format, bundle).WriteDir(dir, false); err != nil {
		t.Fatal(err)
	}
}

func asJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// wrongValues are refused by Helm before anything is rendered.
var wrongValues = map[string]struct{ set, says string }{
	"a value that there is not":         {"runtimes.mpi-horovod-gpu.imagee=a", "imagee"},
	"a runtime that there is not":       {"runtimes.other.image=a", "other"},
	"a value taken away":                {"runtimes.mpi-horovod-gpu.image=null", "image"},
	"a runtime taken away":              {"runtimes.mpi-horovod-gpu=null", "mpi-horovod-gpu"},
	"a number that is too large":        {"runtimes.mpi-horovod-gpu.numProcPerNode=9", "want 8"},
	"no image":                          {"runtimes.mpi-horovod-gpu.image=UPPER/case:x", "image"},
	"a part that there is not":          {"components.others=false", "others"},
	"all parts taken away":              {"components=null", "components"},
	"a mirror that is an address":       {"imageRegistry=https://mirror.example", "imageRegistry"},
	"a label that no object can have":   {"commonLabels.cost=a b", "cost"},
	"a label that objects have already": {`commonLabels.trainyard\.dev/tenant=a`, "trainyard.dev/tenant"},
	"an annotation of Helm's own":       {`commonAnnotations.helm\.sh/resource-policy=keep`, "helm.sh/resource-policy"},
}

func TestChartsRefuseWrongValues(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "chart")
	acme(t, dir)
	for name, test := range wrongValues {
		for _, helm := range helmVersions {
			out, err := exec.Command(repo.Tool(t, helm), "template", "release", dir, "--set", test.set).CombinedOutput()
			if err == nil || !strings.Contains(string(out), test.says) || strings.Contains(string(out), "apiVersion") {
				t.Errorf("%s with %s: %v: want %q in\n%s", name, helm, err, test.says, out)
			}
		}
	}
}

// TestChartsArePartsOfOthers: a chart can have ours as a part, under another name, switched on and off, with values.
func TestChartsArePartsOfOthers(t *testing.T) {
	above := t.TempDir()
	acme(t, filepath.Join(above, "charts", "acme-prod"))
	text := "apiVersion: v2\nname: above\nversion: 1.0.0\ndependencies:\n- {name: acme-prod, version: 0.1.0, alias: training, condition: training.enabled}\n"
	if err := os.WriteFile(filepath.Join(above, "Chart.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, helm := range helmVersions {
		on := objects(t, helmTemplate(t, helm, above, "--set", "training.enabled=true,training.runtimes.mpi-deepspeed.image=quay.io/acme/other:2,global.imageRegistry=mirror.example"))
		if !strings.Contains(on["ClusterTrainingRuntime mpi-deepspeed"], `"mirror.example/acme/other:2"`) {
			t.Errorf("%s: the part has not got its image: %s", helm, slices.Sorted(maps.Keys(on)))
		}
		if off := objects(t, helmTemplate(t, helm, above, "--set", "training.enabled=false")); len(off) > 0 {
			t.Errorf("%s: switched off it makes %s", helm, slices.Sorted(maps.Keys(off)))
		}
	}
}
