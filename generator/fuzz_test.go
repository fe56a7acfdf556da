package generator

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trainyard/trainyard"
)

// Limits for one document. The limits of the fuzz tests are high, because the machine that runs the fuzzer may
// be busy.
const (
	fuzzTime   = 20 * time.Second
	fuzzMemory = 1 << 30 // heap memory of the process after one document, in bytes
)

// FuzzGenerate checks that the pipeline completes in time and without a panic, and that every returned problem is
// well-formed.
func FuzzGenerate(f *testing.F) {
	for _, text := range seedDocuments(f) {
		f.Add(false, text)
	}
	f.Add(true, `{"apiVersion": "trainyard.dev/v1alpha1", "kind": "Platform", "metadata": {"name": "a"}, "spec": {"runtimes": {"m": {"from": "mpich", "image": "q/a:1", "numNodes": 2}}}}`)
	f.Add(true, `{"spec": {"runtimes": {"m": {"from": "mpich", "image": "q/a", "env": {"A": "$(B)", "B": "$(A)"}, "sharedMemory": "9Gi"}}, "environments": {"e": {"runtimes": null}}}}`)
	var shared sharedPool
	f.Fuzz(func(t *testing.T, asJSON bool, text string) {
		layer := Input{Name: "a.yaml", Text: []byte(text)}
		if asJSON {
			layer.Name = "a.json"
		}
		runBounded(t, func() {
			err := shared.generate(t.Context(), t, layer)
			_ = wellFormed(t, err, layer)
		})
	})
}

// FuzzLayers checks that all problems of two merged layers are well-formed. If trainyard can read both
// layers, the origin of each merged value must be in one of the layers.
func FuzzLayers(f *testing.F) {
	all := seedDocuments(f)
	small := slices.MinFunc(all[:3], func(a, b string) int { return len(a) - len(b) }) // the shortest of three examples
	for i, text := range all {
		f.Add(small, text)
		f.Add(text, all[(i+1)%len(all)])
	}
	var shared sharedPool
	f.Fuzz(func(t *testing.T, base, over string) {
		layers := []Input{{Name: "base.yaml", Text: []byte(base)}, {Name: "over.yaml", Text: []byte(over)}}
		runBounded(t, func() {
			err := shared.generate(t.Context(), t, layers...)
			_ = wellFormed(t, err, layers...)
			sources, err := New(trainyard.CUE).Sources(t.Context(), Request{Layers: layers})
			_ = wellFormed(t, err, layers...)
			for _, source := range sources {
				for _, value := range source.Values {
					if p := value.Position; !containsPosition(layers[0], p) && !containsPosition(layers[1], p) {
						t.Errorf("want the origin of %s in one of the two layers, got %s", value.Path, p)
					}
				}
			}
		})
	})
}

// runBounded fails the test if a function takes too long, or if too much memory is in use afterwards. A function that
// hangs cannot be stopped, so runBounded ends the process with a panic if the function takes longer than fuzzTime. The
// fuzzer stores the input that caused the panic, but discards the output of the process. Therefore runBounded writes the
// stacks of all goroutines to a temporary file.
func runBounded(t *testing.T, run func()) {
	t.Helper()
	timer := time.AfterFunc(fuzzTime, func() {
		if file, err := os.CreateTemp("", "trainyard-fuzz-*.txt"); err == nil {
			_ = pprof.Lookup("goroutine").WriteTo(file, 2) // stacks as after a panic
		}
		panic("one input took more than " + fuzzTime.String()) //nolint:forbidigo // only a panic ends a function that hangs
	})
	defer timer.Stop()
	run()
	var used runtime.MemStats
	if runtime.ReadMemStats(&used); used.HeapAlloc > fuzzMemory {
		runtime.GC()
		if runtime.ReadMemStats(&used); used.HeapAlloc > fuzzMemory {
			t.Fatalf("the heap has %d MiB after one input, which is more than fuzzMemory", used.HeapAlloc>>20)
		}
	}
}

// seedDocuments returns the examples, the layers of the examples, and the documents in
// cmd/trainyard/testdata/corpus, which contain typical mistakes.
func seedDocuments(f *testing.F) []string {
	f.Helper()
	var all []string
	err := fs.WalkDir(trainyard.Examples, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		text, err := fs.ReadFile(trainyard.Examples, path)
		all = append(all, string(text))
		return err
	})
	if err != nil {
		f.Fatal(err)
	}
	files, err := filepath.Glob("../examples/layers/*.yaml")
	if err != nil || len(files) == 0 {
		f.Fatalf("no layers: %v", err)
	}
	for _, file := range append(files, corpus(f)...) {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		_, document, _ := strings.Cut(string(text), "-- p.yaml --\n")
		if filepath.Ext(file) == ".yaml" {
			document = string(text)
		}
		document, _, _ = strings.Cut(document, "-- want --\n")
		all = append(all, document)
	}
	return all
}

func corpus(f *testing.F) []string {
	f.Helper()
	files, err := filepath.Glob("../cmd/trainyard/testdata/corpus/*.txtar")
	if err != nil || len(files) == 0 {
		f.Fatalf("no corpus: %v", err)
	}
	return files
}
