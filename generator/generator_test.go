package generator_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/generator/object"
	"github.com/trainyard/trainyard/generator/problem"
)

const platform = `apiVersion: trainyard.dev/v1alpha1
kind: Platform
metadata: {name: acme}
spec:
  runtimes:
    mpi:
      from: openmpi-cpu
      image: quay.io/acme/openmpi:4.1
      resources: {cpu: 0.5}
      preflight: {oversubscribe: true}
`

func request(text string) generator.Request {
	return generator.Request{Layers: []generator.Input{{Name: "platform.yaml", Text: []byte(text)}}}
}

func firstObject(t *testing.T, text string) object.Object {
	t.Helper()
	platforms, err := generator.New(trainyard.CUE).Generate(t.Context(), request(text))
	if err != nil {
		t.Fatal(err)
	}
	for o := range platforms[0].Objects.All() {
		return o
	}
	t.Fatal("no objects")
	return object.Object{}
}

func TestObjectsHaveOrigins(t *testing.T) {
	got := firstObject(t, platform).Origin()
	if got.Input != "platform.yaml:6:5" || !strings.HasPrefix(got.Definition, "runtimes/openmpi_cpu.cue:") {
		t.Errorf("Origin() = %+v, want platform.yaml:6:5 and a position in runtimes/openmpi_cpu.cue", got)
	}
}

// TestParametersCanBeFilledIn replaces each parameter in a generated object by a new value. The result must
// equal the object that is generated from a document with the new value.
func TestParametersCanBeFilledIn(t *testing.T) {
	values := map[string]struct{ document, leaf any }{
		"spec.runtimes.mpi.image":            {"quay.io/acme/other:2", "quay.io/acme/other:2"},
		"spec.runtimes.mpi.imagePullPolicy":  {"Always", "Always"},
		"spec.runtimes.mpi.numProcPerNode":   {3, float64(3)},
		"spec.runtimes.mpi.resources.cpu":    {"750m", "750m"},
		"spec.runtimes.mpi.resources.memory": {"3Gi", "3Gi"},
		"spec.runtimes.mpi.sharedMemory":     {"1Gi", "1Gi"},
		"spec.runtimes.mpi.ephemeralStorage": {"8Gi", "8Gi"},
		"spec.runtimes.mpi.user":             {2000, float64(2000)},

		"spec.runtimes.mpi.readOnlyRootFilesystem": {true, true},
	}
	before := firstObject(t, platform)
	seen := map[string]bool{}
	for _, p := range before.Parameters() {
		seen[p.Key] = true
		if p.Doc == "" || !json.Valid(p.Schema) {
			t.Errorf("%s has doc %q and schema %s", p.Key, p.Doc, p.Schema)
		}
	}
	for key, value := range values {
		t.Run(key, func(t *testing.T) {
			if !seen[key] {
				t.Fatal("not a parameter")
			}
			filled := before.Fields()
			for _, p := range before.Parameters() {
				if p.Key == key {
					set(filled, p.Path, value.leaf)
				}
			}
			want := firstObject(t, withValue(t, key, value.document)).Fields()
			if diff := cmp.Diff(normal(t, want), normal(t, filled)); diff != "" {
				t.Errorf("-generated +filled in:\n%s", diff)
			}
		})
	}
	if len(seen) != len(values) {
		t.Errorf("the object has the parameters %v, but the test has values for %d parameters", seen, len(values))
	}
}

func set(root any, path []any, value any) {
	for i, step := range path {
		last := i == len(path)-1
		switch node := root.(type) {
		case map[string]any:
			if last {
				node[step.(string)] = value
			}
			root = node[step.(string)]
		case []any:
			if last {
				node[step.(int)] = value
			}
			root = node[step.(int)]
		}
	}
}

func withValue(t *testing.T, key string, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	setting := strings.TrimPrefix(key, "spec.runtimes.mpi.")
	switch setting {
	case "image":
		return strings.Replace(platform, "quay.io/acme/openmpi:4.1", strings.Trim(string(text), `"`), 1)
	case "resources.cpu":
		return strings.Replace(platform, "0.5", string(text), 1)
	case "resources.memory":
		return strings.Replace(platform, "0.5", "0.5, memory: "+string(text), 1)
	}
	return platform + "      " + setting + ": " + string(text) + "\n"
}

func normal(t *testing.T, fields map[string]any) any {
	t.Helper()
	text, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	return value
}

// TestVerifyReportsFaults: mistakes in trainyard's own CUE must be reported as faults, and never as problems of
// the user's document.
func TestVerifyReportsFaults(t *testing.T) {
	cases := map[string]struct{ file, old, replacement, want string }{
		"a field that is not in the upstream type": {"runtimes/training_runtime.cue", "numNodes: 1", "numNodez: 1", `unknown field "spec.mlPolicy.numNodez"`},
		"a field of another type":                  {"runtimes/pod.cue", "enableServiceLinks: false", `enableServiceLinks: "no"`, "cannot unmarshal string"},
		"an unknown kind":                          {"runtimes/training_runtime.cue", `"ClusterTrainingRuntime"`, `"Runtime"`, "no upstream Go type is known"},
		"a value that is not concrete":             {"runtimes/role.cue", "backoffLimit: 0", "backoffLimit: int", "backoffLimit"},
		"a parameter of an unknown field":          {"runtimes/training_runtime.cue", "@param(numProcPerNode)", "@param(numProcPerNod)", "settings.numProcPerNod"},
		"a parameter that differs from its source": {"runtimes/container.cue", "image:           in.settings.image ", `image: "x\(in.settings.image)" `, "its source settings.image is"},
		"an unknown component":                     {"generator/objects/runtime/runtime.cue", "'sshd'", "'ssh'", "has no ssh in components"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := generator.New(patched(t, tc.file, tc.old, tc.replacement)).Generate(t.Context(), request(platform))
			var fault *problem.FaultError
			if !errors.As(err, &fault) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Generate() = %v, want a fault with %q", err, tc.want)
			}
		})
	}
}

func patched(t *testing.T, file, old, replacement string) fs.FS {
	t.Helper()
	files := fstest.MapFS{}
	err := fs.WalkDir(trainyard.CUE, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(trainyard.CUE, path)
		if path == file {
			changed := strings.ReplaceAll(string(text), old, replacement)
			if changed == string(text) {
				t.Fatalf("%s does not contain %q", file, old)
			}
			text = []byte(changed)
		}
		files[path] = &fstest.MapFile{Data: text}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestGenerateStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := generator.New(trainyard.CUE).Generate(ctx, request(platform)); !errors.Is(err, context.Canceled) {
		t.Errorf("Generate() = %v, want context.Canceled", err)
	}
}

// TestRulesCheckEachRuntime checks that a missing value of one runtime does not hide the problems of another runtime.
func TestRulesCheckEachRuntime(t *testing.T) {
	_, err := generator.New(trainyard.CUE).Generate(t.Context(), request(`apiVersion: trainyard.dev/v1alpha1
kind: Platform
metadata: {name: a}
spec:
  runtimes:
    lacking: {image: quay.io/acme/a:1, limits: {maxNodes: none}}
    wrong: {from: openmpi-cup, image: quay.io/acme/a:1, numNodes: 9, limits: {maxNodes: 8}}
`))
	want := []string{
		`platform.yaml:6:5: spec.runtimes.lacking: missing key "from": the catalogue entry on which this runtime is based`,
		`platform.yaml:6:59: spec.runtimes.lacking.limits.maxNodes: want an integer from 1 to 10000, got the text "none"`,
		`platform.yaml:7:19: spec.runtimes.wrong.from: unknown runtime base "openmpi-cup": did you mean "openmpi-cpu"?`,
		`platform.yaml:7:67: spec.runtimes.wrong.numNodes: want at most 8, which is limits.maxNodes, got 9`,
	}
	if diff := cmp.Diff(strings.Join(want, "\n"), fmt.Sprint(err)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestInterruptDoesNotWaitForCUE checks that Generate returns soon after its context is done. Generate must not wait
// for CUE, because an evaluation in CUE cannot be interrupted.
func TestInterruptDoesNotWaitForCUE(t *testing.T) {
	var b strings.Builder
	b.WriteString("apiVersion: trainyard.dev/v1alpha1\nkind: Platform\nmetadata: {name: a}\nspec:\n  runtimes:\n")
	for i := range 200 {
		fmt.Fprintf(&b, "    r%d: {from: mpich, image: a, user: %d, nodeSelector: {a: b%d}}\n", i, i+1, i)
	}
	began := time.Now()
	if _, err := generator.New(trainyard.CUE).Generate(t.Context(), request(b.String())); err != nil {
		t.Fatal(err)
	}
	whole := time.Since(began)

	ctx, cancel := context.WithTimeout(t.Context(), whole/10)
	defer cancel()
	began = time.Now()
	_, err := generator.New(trainyard.CUE).Generate(ctx, request(b.String()))
	if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took > whole*3/4 {
		t.Errorf("Generate() ended after %s with the error %v, want the context's error soon after %s", took, err, whole/10)
	}
}
