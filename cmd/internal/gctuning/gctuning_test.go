package gctuning

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	Tune()
	os.Exit(m.Run())
}

// collectUntil runs garbage collections until the GC percentage is between low and high. The function "adjust" sets the
// GC percentage after each collection.
func collectUntil(t *testing.T, low, high uint64) {
	t.Helper()
	percent := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	deadline := time.Now().Add(10 * time.Second)
	for {
		runtime.GC()
		time.Sleep(time.Millisecond)
		metrics.Read(percent)
		got := percent[0].Value.Uint64()
		if got >= low && got <= high {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the GC percentage is %d, want %d to %d", got, low, high)
		}
	}
}

func TestCollectsWhenTheHeapReachesItsMinimum(t *testing.T) {
	collectUntil(t, maxPercent/3, maxPercent) // less than maxPercent, because the tests use a few megabytes of heap
}

func TestCollectsAtTheDefaultRateWithALargeLiveHeap(t *testing.T) {
	live := make([]byte, 2*minHeap)
	collectUntil(t, 100, 130)
	runtime.KeepAlive(live)
}

// TestMemoryLimitFollowsTheLiveHeap: the memory limit must rise above a large live heap. With a limit below the live
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
