// Package gctuning makes the garbage collector run less often. By default, Go starts a garbage collection at a heap
// of 4 MB, and again whenever the heap has doubled. With Go's default settings, a short run collects garbage many times.
package gctuning

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// The next garbage collection starts when the heap reaches max(minHeap, 2 x live heap + extraGarbage).
const (
	minHeap      = 54 << 20 // bytes
	extraGarbage = 16 << 20 // bytes
)

// nonHeap is an estimate of the memory that the Go runtime uses outside the heap, for example for stacks and tables.
// The estimate includes a safety margin.
const nonHeap = 24 << 20 // bytes

// maxPercent is the largest GOGC value that this package sets. Go starts no collection while the heap is smaller than a
// minimum of 4 MiB x GOGC/100. If GOGC is set to maxPercent, this minimum equals minHeap.
const maxPercent = 100 * minHeap / (4 << 20)

// setsLimit reports whether Tune sets a memory limit in addition to the GC percentage. If the environment sets
// GOMEMLIMIT, Tune sets no memory limit. After a garbage collection, the old GC percentage applies until the function
// "adjust" sets a new one. Until then, only the memory limit keeps the heap from growing too large. On a machine with
// one CPU, "adjust" runs late. On such a machine, the workload W of docs/benchmarks.md took 50 % more memory without
// the memory limit.
var setsLimit = os.Getenv("GOMEMLIMIT") == ""

// Tune makes the garbage collector run less often until the program ends. If the environment sets GOGC, Tune changes
// nothing.
func Tune() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(maxPercent)
		if setsLimit {
			debug.SetMemoryLimit(minHeap + nonHeap)
		}
		afterNextCollection(adjust)
	}
}

// adjust sets the heap size at which the next garbage collection starts. adjust runs again after each
// garbage collection.
func adjust(liveHeap []metrics.Sample) {
	metrics.Read(liveHeap)
	live := max(1, int(liveHeap[0].Value.Uint64())) //nolint:gosec // a heap is always smaller than the maximum int
	garbage := max(minHeap-live, live+extraGarbage)
	debug.SetGCPercent(min(maxPercent, 100*garbage/live))
	if setsLimit {
		debug.SetMemoryLimit(int64(live + garbage + nonHeap))
	}
	afterNextCollection(adjust)
}

// afterNextCollection calls the function "call" after the next garbage collection. For this purpose, it
// allocates an unused object, and registers "call" as the cleanup of the object. The next garbage collection
// frees the object and runs the cleanup.
func afterNextCollection(call func([]metrics.Sample)) {
	// If small objects contain no pointers, the allocator can put several of these objects into one block. The cleanup
	// of each object then waits until the whole block is unused. The type "garbage" contains a pointer, so the new
	// object gets a block of its own.
	type garbage struct{ _ *garbage }
	runtime.AddCleanup(new(garbage), call, []metrics.Sample{{Name: "/gc/heap/live:bytes"}})
}
