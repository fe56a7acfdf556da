package formats

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/trainyard/trainyard/bundles"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/generator/problem"
	"github.com/trainyard/trainyard/test/repo"
)

// boundRules lists rules that compare several fields of a document. Charts check the same rules for their values.
var boundRules = []string{
	"default-over-limit", "more-processes-than-gpus", "one-process-many-gpus", "job-over-quota",
}

func keepsBounds(t *testing.T, file string, bundle bundles.Bundle, values map[string]any) bool {
	t.Helper()
	return !slices.ContainsFunc(checkParameters(t, file, bundle, values), func(p problem.Problem) bool { return slices.Contains(boundRules, p.Rule.Name) })
}

// TestSchemaHasTheBoundsOfRuntimes checks the field numProcPerNode. The file values.schema.json of a chart and the
// rules for documents must allow the same values of this field. For a runtime without GPUs, the maximum of
// numProcPerNode is the runtime's field limits.maxProcPerNode. For a runtime with GPUs, the maximum is the smaller one
// of two numbers: limits.maxProcPerNode and the number of GPUs. If preflight.oversubscribe of the runtime is true, the
// number of GPUs does not count. If the launcher has several GPUs and the default of numProcPerNode is greater than 1,
// the minimum is 2. The reason is that Trainer replaces the value 1 by the number of the launcher's GPUs. With the
// value 1, a TrainJob would therefore not get one process per node.
func TestSchemaHasTheBoundsOfRuntimes(t *testing.T) {
	refused := 0
	eachChart(t, func(t *testing.T, file, dir string, bundle bundles.Bundle) {
		text, err := os.ReadFile(filepath.Join(dir, "values.schema.json"))
		if err != nil {
			t.Fatal(err)
		}
		schema := compileSchema(t, text)
		for _, key := range parameterKeys(bundle, ".numProcPerNode") {
			for _, number := range []int{1, 2, 4, 8, 9, 16, 17, 64, 65, 128, 129, 256, 257, 1024} {
				values := chartDefaults(t, dir)
				steps := strings.Split(strings.TrimPrefix(key, "spec."), ".")
				if fmt.Sprint(valueAt(values, steps)) == fmt.Sprint(number) {
					continue // a chart must admit its default, but some documents must omit the default value
				}
				setValue(values, steps, number)
				want := keepsBounds(t, file, bundle, map[string]any{key: number})
				if got := schema.Validate(toDecoded(t, values)) == nil; got != want {
					t.Errorf("%s: %d: the chart admits it: %v; the document admits it: %v", key, number, got, want)
				}
				if !want {
					refused++
				}
			}
		}
	})
	if refused < 20 {
		t.Errorf("%d numbers were refused: too few for a result", refused)
	}
}

func valueAt(values map[string]any, steps []string) any {
	for _, step := range steps[:len(steps)-1] {
		values, _ = values[step].(map[string]any)
	}
	return values[steps[len(steps)-1]]
}

// amountCases lists changes of a document. Each change sets one resource in the quotas of all tenants, in the requests
// of all runtimes, or in both.
var amountCases = []map[string]any{
	{"quota.cpu": "1m"}, {"quota.cpu": 16}, {"quota.cpu": 31.5}, {"quota.cpu": "31999m"}, {"quota.cpu": 32}, {"quota.cpu": "1k"}, {"resources.cpu": 999},
	{"quota.cpu": 1.9, "resources.cpu": 1}, {"quota.cpu": 2, "resources.cpu": 1}, {"quota.cpu": "1500m", "resources.cpu": "0.751"}, {"quota.cpu": 1.5, "resources.cpu": 0.75},
	{"quota.memory": "1Mi"}, {"quota.memory": "274G"}, {"quota.memory": "275G"}, {"quota.memory": "256Gi"}, {"quota.memory": "1P"},
	{"quota.memory": "16Gi", "resources.memory": "8Gi"}, {"quota.memory": "16Gi", "resources.memory": "8193Mi"}, {"quota.memory": "17G", "resources.memory": "8Gi"},
}

// TestAmountsFitTogether compares each chart with a document that has the same values. Rendering the chart must fail if
// the document has a runtime that can never run within a quota, and must succeed otherwise.
func TestAmountsFitTogether(t *testing.T) {
	verdicts := map[bool]int{}
	eachChart(t, func(t *testing.T, file, dir string, bundle bundles.Bundle) {
		for _, amount := range amountCases {
			values := map[string]any{}
			for end, value := range amount {
				for _, key := range parameterKeys(bundle, "."+end) {
					values[key] = value
				}
			}
			if len(parameterKeys(bundle, ".quota.cpu")) == 0 {
				continue
			}
			want := keepsBounds(t, file, bundle, values)
			out, err := exec.Command(repo.Tool(t, "helm-4"), "template", "release", dir, "-f", writeValues(t, values)).CombinedOutput()
			if (err == nil) != want || err != nil && !strings.Contains(string(out), "is too small for") {
				t.Errorf("%v: the document is valid: %v; the chart reports %v:\n%.600s", amount, want, err, out)
			}
			verdicts[want]++
		}
	})
	if verdicts[true] < 10 || verdicts[false] < 10 {
		t.Errorf("%d amounts fit and %d do not: too few for a result", verdicts[true], verdicts[false])
	}
}

func TestChartsWithoutObjectsRender(t *testing.T) {
	text := "{apiVersion: trainyard.dev/v1alpha1, kind: Platform, metadata: {name: a}, spec: {runtimes: {mpi: {from: openmpi-cpu, image: a, scope: namespace}}}}"
	dir := writeChart(t, text)
	for _, helm := range helmVersions {
		if got := objectsByName(t, helmTemplate(t, helm, dir)); len(got) > 0 {
			t.Errorf("%s: the chart renders %v", helm, slices.Sorted(maps.Keys(got)))
		}
	}
}

// maxChartFile is the size, in bytes, of the largest file that Helm accepts in a chart. Source:
// Helm, MaxDecompressedFileSize.
const maxChartFile = 5 << 20

// TestLargeChartsAreRead checks that templates/bounds.yaml stays small with many tenants and runtimes. The file
// templates/bounds.yaml must not repeat long texts for each pair of a tenant and a runtime.
func TestLargeChartsAreRead(t *testing.T) {
	var text strings.Builder
	text.WriteString("apiVersion: trainyard.dev/v1alpha1\nkind: Platform\nmetadata: {name: a}\nspec:\n  admission: {enforce: none}\n  runtimes:\n")
	var names []string
	for i := range 30 {
		names = append(names, fmt.Sprintf("a-runtime-with-a-name-%d", i))
		fmt.Fprintf(&text, "    %s: {from: openmpi-cpu, image: a, storage: {data: {claim: data}}, initializers: {dataset: {storage: data, uri: \"hf://a/b\"}}}\n", names[i])
	}
	text.WriteString("  tenants:\n")
	for i := range 200 {
		fmt.Fprintf(&text, "    team-with-a-name-%d: {runtimes: [%s], quota: {cpu: 100, memory: 1Ti}}\n", i, strings.Join(names, ", "))
	}
	dir := writeChart(t, text.String())
	info, err := os.Stat(filepath.Join(dir, "templates/bounds.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > maxChartFile/10 {
		t.Errorf("bounds.yaml has %d bytes", info.Size())
	}
	out, err := exec.Command(repo.Tool(t, "helm-4"), "template", "release", dir, "--set", "tenants.team-with-a-name-77.quota.cpu=1").CombinedOutput()
	if want := "tenants.team-with-a-name-77.quota.cpu: 1 is too small for the smallest TrainJob of a-runtime-with-a-name-0 (a launcher and a node)"; err == nil || !strings.Contains(string(out), want) {
		t.Errorf("%v: want %s in\n%.600s", err, want, out)
	}
}

func writeChart(t *testing.T, text string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "chart")
	format, _ := bundles.Named("helm")
	for _, bundle := range generateBundles(t, generator.Input{Name: "a.yaml", Text: []byte(text)}) {
		if _, err := renderBundle(t, format, bundle).WriteDir(dir, false); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
