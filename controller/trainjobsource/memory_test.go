package trainjobsource

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trainyard/trainyard/controller/trainjobsource/decode"
)

// commitOf returns a commit with one job of about the given size.
func commitOf(bytes int) *commit {
	object := &unstructured.Unstructured{Object: map[string]any{"a": strings.Repeat("x", bytes)}}
	return &commit{tree: decode.Tree{Jobs: []decode.Job{{Object: object}}}}
}

// TestMemoryDropsOldCommits checks that the commits that were used least recently are dropped.
func TestMemoryDropsOldCommits(t *testing.T) {
	m := memory{limit: 250}
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

// TestMemoryForgetsDeletedObjects checks that a TrainJobSource that was deleted and created again does not get its old
// state.
func TestMemoryForgetsDeletedObjects(t *testing.T) {
	var m memory
	key := types.NamespacedName{Name: "a"}
	m.keep(m.get(key, "1"), commitOf(10))
	if got := m.get(key, "2"); got.commit != nil || m.size != 0 {
		t.Errorf("the state of the new object is %+v, and the size %d", got, m.size)
	}
}

// TestBackoff checks the delays after one or more failures in succession.
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
