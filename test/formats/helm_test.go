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
	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/bundles"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/generator/problem"
	"github.com/trainyard/trainyard/test/repo"
)

var helmVersions = []string{"helm-3", "helm-4"}

func eachChart(t *testing.T, test func(t *testing.T, file, dir string, bundle bundles.Bundle)) {
	t.Helper()
	format, _ := bundles.Named("helm")
	for name, file := range findExamples(t) {
		for environment, bundle := range generateBundles(t, read(t, file)) {
			t.Run(path.Join(name, environment), func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "chart")
				if _, err := renderBundle(t, format, bundle).WriteDir(dir, false); err != nil {
					t.Fatal(err)
				}
				test(t, file, dir, bundle)
			})
		}
	}
}

func writeValues(t *testing.T, values map[string]any) string {
	t.Helper()
	root := map[string]any{}
	for key, value := range values {
		setValue(root, strings.Split(strings.TrimPrefix(key, "spec."), "."), value)
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

func setValue(at map[string]any, steps []string, value any) {
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

func TestChartsAreClean(t *testing.T) {
	eachChart(t, func(t *testing.T, _, dir string, _ bundles.Bundle) {
		for _, helm := range helmVersions {
			output := string(commandOutput(t, exec.Command(repo.Tool(t, helm), "lint", "--strict", dir)))
			if strings.Contains(output, "[WARNING]") || !strings.Contains(output, "0 chart(s) failed") {
				t.Errorf("%s:\n%s", helm, output)
			}
		}
	})
}

// TestValuesEqualTheDocument changes parameters in the Helm values of a chart, and makes the same changes in the
// document. The chart must render the same objects as the changed document. The test changes all parameters,
// except for numProcPerNode of runtimes with GPUs.
func TestValuesEqualTheDocument(t *testing.T) {
	eachChart(t, func(t *testing.T, file, dir string, bundle bundles.Bundle) {
		values := changeParameters(t, bundle)
		other := generateBundles(t, read(t, file), newOverlay(t, bundle, values))[path.Join(".", bundle.Environment)]
		want := map[string]string{}
		for o := range other.Objects.All() {
			text, err := o.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			want[o.ID().String()] = canonicalJSON(t, text)
		}
		for _, helm := range helmVersions {
			if diff := cmp.Diff(want, objectsByName(t, helmTemplate(t, helm, dir, "-f", writeValues(t, values)))); diff != "" {
				t.Errorf("%s: -of the document +of the chart:\n%.4000s", helm, diff)
			}
		}
	})
}

// unusualValues are values that are invalid for most parameters.
var unusualValues = []any{
	-1, 0, 1, 1.5, 0.0001, 7, 1024, 1025, 1e9, 1e10, "", " ", "a b", "Always", "always", "UPPER/case:1", "quay.io/acme/mpi:1", "mpi", "1", "0", "-1", "1500m", "0.5",
	"1Gi", "1G", "1gb", "1Ei", "10x", "1e3", "99999999999Gi", "true", true, false, []any{}, []any{"a"}, map[string]any{}, map[string]any{"a": 1}, "a\nb", "é", "a\u202eb", "a\u0000b", strings.Repeat("a", 3000),
}

// TestSchemaRefusesInvalidValues checks the file values.schema.json of each chart. For every parameter, this file and
// the CUE schema must admit the same values. The test sets all parameters of the document to the same unusual value at
// once. The changed document can also break rules that compare several fields. The test ignores these rules, except for
// default-over-limit and more-processes-than-gpus.
func TestSchemaRefusesInvalidValues(t *testing.T) {
	eachChart(t, func(t *testing.T, file, dir string, bundle bundles.Bundle) {
		text, err := os.ReadFile(filepath.Join(dir, "values.schema.json"))
		if err != nil {
			t.Fatal(err)
		}
		schema := compileSchema(t, text)
		admitted, refused := 0, 0
		for _, value := range unusualValues {
			refusedKeys := refusedParameters(t, file, bundle, value)
			for _, key := range parameterKeys(bundle, "") {
				values := chartDefaults(t, dir)
				setValue(values, strings.Split(strings.TrimPrefix(key, "spec."), "."), value)
				invalid := schema.Validate(toDecoded(t, values))
				if (invalid == nil) == refusedKeys[key] {
					t.Errorf("%s: %v: the document refuses it: %v; the chart reports %v", key, value, refusedKeys[key], invalid)
				}
				if invalid == nil {
					admitted++
				} else {
					refused++
				}
			}
		}
		if admitted < 20 || refused < 100 {
			t.Errorf("%d values admitted and %d refused: too few for a result", admitted, refused)
		}
	})
}

// refusedParameters sets every parameter of a document to the same value, and returns the parameters for which
// trainyard refuses the value. After a refused value, trainyard skips some rules and can miss other refused
// values. Therefore refusedParameters runs trainyard a second time, and sets only the parameters that the first
// run did not report.
func refusedParameters(t *testing.T, file string, bundle bundles.Bundle, value any) map[string]bool {
	t.Helper()
	values := map[string]any{}
	for _, key := range parameterKeys(bundle, "") {
		values[key] = value
	}
	refused := listRefused(t, file, bundle, values)
	maps.DeleteFunc(values, func(key string, _ any) bool { return refused[key] })
	maps.Copy(refused, listRefused(t, file, bundle, values))
	return refused
}

func listRefused(t *testing.T, file string, bundle bundles.Bundle, values map[string]any) map[string]bool {
	t.Helper()
	refused := map[string]bool{}
	for _, p := range checkParameters(t, file, bundle, values) {
		at := strings.Replace(p.Path, "spec.environments."+bundle.Environment+".", "spec.", 1)
		if slices.Contains([]string{"wrong-value", "unknown-key", "missing-key", "default-over-limit", "more-processes-than-gpus"}, p.Rule.Name) {
			for key := range values {
				refused[key] = refused[key] || key == at || strings.HasPrefix(at, key+".") || strings.HasPrefix(key, at+".")
			}
		}
	}
	return refused
}

func checkParameters(t *testing.T, file string, bundle bundles.Bundle, values map[string]any) problem.List {
	t.Helper()
	request := generator.Request{Layers: []generator.Input{read(t, file), newOverlay(t, bundle, values)}}
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

func chartDefaults(t *testing.T, dir string) map[string]any {
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

// standardValues lists test cases for values that every chart has, such as a registry mirror.
var standardValues = map[string]struct {
	values map[string]any
	change func(id string, o map[string]any) // changes o to the expected object, or clears o if no object is expected
	more   []string                          // added objects
}{
	"a mirror has all images": {
		values: map[string]any{"imageRegistry": "mirror.example:5000/quay/"},
		change: func(_ string, o map[string]any) { useMirror(o, "mirror.example:5000/quay/") },
	},
	"a parent chart sets the mirror": {
		values: map[string]any{"global": map[string]any{"imageRegistry": "mirror.example", "storageClass": "fast"}},
		change: func(_ string, o map[string]any) { useMirror(o, "mirror.example/") },
	},
	"all objects get labels and annotations": {
		values: map[string]any{"commonLabels": map[string]any{"acme.example/cost": "42"}, "commonAnnotations": map[string]any{"acme.example/owner": "{{ hpc }} \"team\""}},
		change: func(_ string, o map[string]any) {
			setValue(o, []string{"metadata", "labels", "acme.example/cost"}, "42")
			setValue(o, []string{"metadata", "annotations", "acme.example/owner"}, "{{ hpc }} \"team\"")
		},
	},
	"components are left out": {
		values: map[string]any{"components": map[string]any{"quota": false, "networkpolicy": false}},
		change: func(id string, o map[string]any) {
			if kind, _, _ := strings.Cut(id, " "); slices.Contains([]string{"ResourceQuota", "LimitRange", "NetworkPolicy"}, kind) {
				clear(o)
			}
		},
	},
	"objects are added": {
		values: map[string]any{"extraObjects": []any{
			map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "{{ .Release.Name }}-more"}},
			"apiVersion: v1\nkind: Secret\nmetadata:\n  name: {{ .Chart.Name }}",
		}},
		change: func(string, map[string]any) {},
		more:   []string{"ConfigMap release-more", "Secret acme-prod"},
	},
}

func useMirror(o map[string]any, mirror string) {
	for key, value := range o {
		switch value := value.(type) {
		case map[string]any:
			useMirror(value, mirror)
		case []any:
			for _, item := range value {
				if below, is := item.(map[string]any); is {
					useMirror(below, mirror)
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

func TestChartsHaveStandardValues(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "chart")
	writeAcmeChart(t, dir)
	for name, test := range standardValues {
		for _, helm := range helmVersions {
			t.Run(name+" with "+helm, func(t *testing.T) {
				want := map[string]string{}
				for id, text := range objectsByName(t, helmTemplate(t, helm, dir)) {
					var o map[string]any
					if err := json.Unmarshal([]byte(text), &o); err != nil {
						t.Fatal(err)
					}
					if test.change(id, o); len(o) > 0 {
						want[id] = canonicalJSON(t, []byte(asJSON(t, o)))
					}
				}
				got := objectsByName(t, helmTemplate(t, helm, dir, "-f", valuesFile(t, test.values)))
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

func writeAcmeChart(t *testing.T, dir string) {
	t.Helper()
	format, _ := bundles.Named("helm")
	bundle := generateBundles(t, read(t, "examples/acme/platform.yaml"))["prod"]
	if _, err := renderBundle(t, format, bundle).WriteDir(dir, false); err != nil {
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

// wrongValues lists values that Helm must refuse before it renders any object.
var wrongValues = map[string]struct{ set, message string }{
	"an unknown value":            {"runtimes.mpi-horovod-gpu.imagee=a", "imagee"},
	"an unknown runtime":          {"runtimes.other.image=a", "other"},
	"a removed value":             {"runtimes.mpi-horovod-gpu.image=null", "image"},
	"a removed runtime":           {"runtimes.mpi-horovod-gpu=null", "mpi-horovod-gpu"},
	"a number that is too large":  {"runtimes.mpi-horovod-gpu.numProcPerNode=9", "want 2"},
	"no image":                    {"runtimes.mpi-horovod-gpu.image=UPPER/case:x", "image"},
	"an unknown component":        {"components.others=false", "others"},
	"all components removed":      {"components=null", "components"},
	"a mirror with a scheme":      {"imageRegistry=https://mirror.example", "imageRegistry"},
	"an invalid label":            {"commonLabels.cost=a b", "cost"},
	"a label that objects have":   {`commonLabels.trainyard\.dev/tenant=a`, v1alpha1.TenantLabel},
	"an annotation of Helm's own": {`commonAnnotations.helm\.sh/resource-policy=keep`, "helm.sh/resource-policy"},
}

func TestChartsRefuseWrongValues(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "chart")
	writeAcmeChart(t, dir)
	for name, test := range wrongValues {
		for _, helm := range helmVersions {
			out, err := exec.Command(repo.Tool(t, helm), "template", "release", dir, "--set", test.set).CombinedOutput()
			if err == nil || !strings.Contains(string(out), test.message) || strings.Contains(string(out), "apiVersion") {
				t.Errorf("%s with %s: %v: want %q in\n%s", name, helm, err, test.message, out)
			}
		}
	}
}

// TestChartsAreDependencies checks that a generated chart works as a dependency of a parent chart. The dependency
// has an alias and a condition.
func TestChartsAreDependencies(t *testing.T) {
	above := t.TempDir()
	writeAcmeChart(t, filepath.Join(above, "charts", "acme-prod"))
	text := "apiVersion: v2\nname: above\nversion: 1.0.0\ndependencies:\n- {name: acme-prod, version: 0.1.0, alias: training, condition: training.enabled}\n"
	if err := os.WriteFile(filepath.Join(above, "Chart.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, helm := range helmVersions {
		on := objectsByName(t, helmTemplate(t, helm, above, "--set", "training.enabled=true,training.runtimes.mpi-deepspeed.image=quay.io/acme/other:2,global.imageRegistry=mirror.example"))
		if !strings.Contains(on["ClusterTrainingRuntime mpi-deepspeed"], `"mirror.example/acme/other:2"`) {
			t.Errorf("%s: the dependency does not have its image: %s", helm, slices.Sorted(maps.Keys(on)))
		}
		if off := objectsByName(t, helmTemplate(t, helm, above, "--set", "training.enabled=false")); len(off) > 0 {
			t.Errorf("%s: disabled, the chart renders %s", helm, slices.Sorted(maps.Keys(off)))
		}
	}
}
