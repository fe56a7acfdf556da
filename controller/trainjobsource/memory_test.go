package trainjobsource

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trainyard/trainyard/controller/trainjobsource/decode"
)

func commitOf(bytes int) *commit {
	object := &unstructured.Unstructured{Object: map[string]any{"a": strings.Repeat("x", bytes)}}
	return &commit{tree: decode.Tree{Jobs: []decode.Job{{Object: object}}}}
}

func TestMemoryDropsOldCommits(t *testing.T) {
	m := memory{limit: 2 * sizeOf(commitOf(100).tree)}
	get := func(name string) *state { return m.get(types.NamespacedName{Name: name}, "1") }
	for _, name := range []string{"a", "b"} {
		m.keep(get(name), commitOf(100))
	}
	get("a") // used again, so b is the oldest
	m.keep(get("c"), commitOf(100))
	for name, want := range map[string]bool{"a": true, "b": false, "c": true} {
		if kept := m.known(get(name)) != nil; kept != want {
			t.Errorf("the commit of %s is kept: %v, want %v", name, kept, want)
		}
	}
	m.keep(get("d"), commitOf(1000)) // larger than the limit, but in use
	if m.known(get("d")) == nil || m.known(get("a")) != nil {
		t.Error("want only the newest commit if it is larger than the limit")
	}
	m.forget(types.NamespacedName{Name: "d"})
	if m.size != 0 {
		t.Errorf("the size is %d after the last commit was forgotten, want 0", m.size)
	}
}

// TestSizeOf compares the estimate of sizeOf with the memory that decoded TrainJobs really need. The real size may be
// at most twice the estimate, and the estimate may be at most four times the real size.
func TestSizeOf(t *testing.T) {
	long := "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: a}\nspec: {trainer: {args: [" + strings.Repeat("x", 1<<19) + "]}}\n"
	for name, spec := range map[string]string{
		"long texts":     long,
		"small mappings": strings.Replace(long, strings.Repeat("x", 1<<19), strings.Repeat("{a: b},", 6000), 1),
		"small lists":    strings.Replace(long, strings.Repeat("x", 1<<19), strings.Repeat("[[]],", 6000), 1),
		"large mappings": strings.Replace(long, strings.Repeat("x", 1<<19), "{"+manyKeys(6000)+"}", 1),
	} {
		t.Run(name, func(t *testing.T) {
			files := fstest.MapFS{"a.yaml": {Data: []byte(spec)}}
			var trees []decode.Tree
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			const copies = 10
			for range copies {
				tree, err := decode.Read(files, ".", "a", decode.DefaultLimits)
				if err != nil || len(tree.Jobs) != 1 {
					t.Fatalf("got %d jobs, problems %v, error %v", len(tree.Jobs), tree.Problems, err)
				}
				trees = append(trees, tree)
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			used, estimated := int64(after.HeapAlloc-before.HeapAlloc), copies*sizeOf(trees[0])
			if used > 2*estimated || estimated > 4*used {
				t.Errorf("the trees need %d bytes, and sizeOf estimates %d", used, estimated)
			}
			runtime.KeepAlive(trees)
		})
	}
}

func manyKeys(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "k%d: v,", i)
	}
	return text.String()
}

func TestMemoryForgetsDeletedObjects(t *testing.T) {
	var m memory
	key := types.NamespacedName{Name: "a"}
	m.keep(m.get(key, "1"), commitOf(10))
	if got := m.get(key, "2"); got.commit != nil || m.size != 0 {
		t.Errorf("the state of the new object is %+v, and the size %d", got, m.size)
	}
}

func TestBackoff(t *testing.T) {
	for name, tc := range map[string]struct {
		failures       int
		interval, want time.Duration
	}{
		"first":                     {1, time.Hour, 10 * time.Second},
		"third":                     {3, time.Hour, 40 * time.Second},
		"many":                      {60, time.Hour, 10 * time.Minute},
		"a short interval":          {60, time.Minute, time.Minute},
		"the shortest interval":     {1, 10 * time.Second, 10 * time.Second},
		"an interval in the middle": {4, 50 * time.Second, 50 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			for range 100 {
				if got := backoff(tc.failures, tc.interval); got < tc.want*9/10 || got > tc.want*11/10 {
					t.Fatalf("the delay is %s, want %s with a deviation of at most 10%%", got, tc.want)
				}
			}
		})
	}
}
