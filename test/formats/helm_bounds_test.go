package formats

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/bundles"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/generator/problem"
	"github.com/trainyard/trainyard/test/repo"
)

// held are the rules of a document about several values that charts keep, too.
var held = []string{
	"defaults-respect-the-limits", "one-process-beside-several-gpus-is-the-trainjobs-to-say", "the-smallest-trainjob-fits-the-quota",
}

// holds tells whether a document keeps these rules with other values.
func holds(t *testing.T, file string, bundle bundles.Bundle, values map[string]any) bool {
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
	return !slices.ContainsFunc(problems, func(p problem.Problem) bool { return slices.Contains(held, p.Rule.Name) })
}

// keysOf are the parameters of a bundle whose key ends so.
func keysOf(t *testing.T, bundle bundles.Bundle, end string) []string {
	t.Helper()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(changed(t, bundle))), func(key string) bool { return !strings.HasSuffix(key, end) })
}

// TestNumbersStayWithinWhatTheDocumentFixes: the schema of a chart's values knows the limits of each runtime, and
// which of them cannot have one process.
func TestNumbersStayWithinWhatTheDocumentFixes(t *testing.T) {
	refused := 0
	eachChart(t, func(t *testing.T, file, dir string, bundle bundles.Bundle) {
		text, err := os.ReadFile(filepath.Join(dir, "values.schema.json"))
		if err != nil {
			t.Fatal(err)
		}
		schema := compiled(t, text)
		for _, key := range keysOf(t, bundle, ".numProcPerNode") {
			for _, number := range []int{1, 2, 4, 8, 9, 16, 17, 64, 65, 128, 129, 256, 257, 1024} {
				values := defaults(t, dir)
				steps := strings.Split(strings.TrimPrefix(key, "spec."), ".")
				if fmt.Sprint(valueAt(values, steps)) == fmt.Sprint(number) {
					continue // of which a document may say nothing
				}
				plant(values, steps, number)
				want := holds(t, file, bundle, map[string]any{key: number})
				if got := schema.Validate(decoded(t, values)) == nil; got != want {
					t.Errorf("%s: %d: the chart admits it: %v; the document: %v", key, number, got, want)
				}
				if !want {
					refused++
				}
			}
		}
	})
	if refused < 20 {
		t.Errorf("%d numbers were refused: too few to say anything", refused)
	}
}

func valueAt(values map[string]any, steps []string) any {
	for _, step := range steps[:len(steps)-1] {
		values, _ = values[step].(map[string]any)
	}
	return values[steps[len(steps)-1]]
}

// amounts are tried for all quotas, and for what all runtimes ask for, at once.
var amounts = []map[string]any{
	{"quota.cpu": "1m"}, {"quota.cpu": 2}, {"quota.cpu": "7999m"}, {"quota.cpu": 8}, {"quota.cpu": 16}, {"quota.cpu": 31.5}, {"quota.cpu": "1k"},
	{"quota.cpu": 0.3, "resources.cpu": 0.1}, {"quota.cpu": "0.3", "resources.cpu": "0.2"}, {"quota.cpu": "300m", "resources.cpu": 0.15}, {"resources.cpu": 999},
	{"quota.memory": "1Mi"}, {"quota.memory": "4Gi"}, {"quota.memory": "5G"}, {"quota.memory": "128Gi"}, {"quota.memory": "1P"},
	{"quota.memory": "4Gi", "resources.memory": "2Gi"}, {"quota.memory": "4Gi", "resources.memory": "2049Mi"}, {"quota.memory": "4G", "resources.memory": "2Gi"},
}

// TestAmountsFitTogether: charts fail where the document would say that a runtime can never run in a quota.
func TestAmountsFitTogether(t *testing.T) {
	verdicts := map[bool]int{}
	eachChart(t, func(t *testing.T, file, dir string, bundle bundles.Bundle) {
		for _, amount := range amounts {
			values := map[string]any{}
			for end, value := range amount {
				for _, key := range keysOf(t, bundle, "."+end) {
					values[key] = value
				}
			}
			if len(keysOf(t, bundle, ".quota.cpu")) == 0 {
				continue
			}
			want := holds(t, file, bundle, values)
			out, err := exec.Command(repo.Tool(t, "helm-4"), "template", "release", dir, "-f", valuesOf(t, values)).CombinedOutput()
			if (err == nil) != want || err != nil && !strings.Contains(string(out), "is less than what") {
				t.Errorf("%v: the document holds: %v; the chart says %v:\n%.600s", amount, want, err, out)
			}
			verdicts[want]++
		}
	})
	if verdicts[true] < 10 || verdicts[false] < 10 {
		t.Errorf("%d amounts fit and %d do not: too few to say anything", verdicts[true], verdicts[false])
	}
}
