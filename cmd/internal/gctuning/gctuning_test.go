package gctuning

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// sink forces an allocation onto the heap.
var sink []byte

func TestMain(m *testing.M) {
	Tune()
	os.Exit(m.Run())
}

// collections allocates the given number of MiB as garbage, and returns the number of collections that run meanwhile.
func collections(megabytes int) uint32 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range megabytes {
		sink = make([]byte, 1<<20)
	}
	runtime.ReadMemStats(&after)
	return after.NumGC - before.NumGC
}

func TestCollectsWhenTheHeapReachesItsMinimum(t *testing.T) {
	// A collection does not free objects that are allocated during the collection, so the number of collections varies.
	if n := collections(40 * minHeap >> 20); n < 5 || n > 80 {
		t.Errorf("%d collections for 40 times minHeap of garbage, want 5 to 80", n)
	}
}

func TestCollectsAtTheDefaultRateWithALargeLiveHeap(t *testing.T) {
	live := make([]byte, 2*minHeap)
	if n := collections(20 * minHeap >> 20); n < 3 || n > 20 {
		t.Errorf("%d collections for ten times the live heap of garbage, want 3 to 20", n)
	}
	runtime.KeepAlive(live)
}

// TestMemoryLimitFollowsTheLiveHeap checks that the memory limit exceeds the live heap. With a limit below the live
// heap, the collector would run all the time.
func TestMemoryLimitFollowsTheLiveHeap(t *testing.T) {
	live := make([]byte, 4*minHeap)
	runtime.GC()
	deadline := time.Now().Add(10 * time.Second)
	for limit := debug.SetMemoryLimit(-1); limit < 4*minHeap+extraGarbage || limit == math.MaxInt64; limit = debug.SetMemoryLimit(-1) {
		if time.Now().After(deadline) {
			t.Fatalf("the limit is %d MB with %d MB in use", limit>>20, 4*minHeap>>20)
		}
		time.Sleep(time.Millisecond)
	}
	runtime.KeepAlive(live)
}
