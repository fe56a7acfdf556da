// Package pace has the garbage collector wait until a run has filled some memory. It would begin at 4 MB, and then
// whenever as much garbage has been made as is in use, which in short runs is most of the time.
package pace

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// What the heap may grow to, whatever little of it is in use. From half of it in use on, the collector is its own.
const room = 52 << 20 // bytes

// The percentage of what is in use that may be made until the next collection: that of a heap that is nearly empty, whose
// least size of 4 MiB grows with it, and what it is by default.
const (
	most  = 100 * room / (4 << 20)
	least = 100
)

// Collector sets the collector's pace for as long as the program runs. A GOGC in the environment has its
// way instead.
func Collector() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(most)
		afterNext(adjust)
	}
}

// adjust has the next collection begin where the room is filled, and asks to be called after that.
func adjust(live []metrics.Sample) {
	metrics.Read(live)
	inUse := max(1, int(live[0].Value.Uint64())) //nolint:gosec // no machine has as much memory
	debug.SetGCPercent(min(most, max(least, 100*room/inUse-100)))
	afterNext(adjust)
}

// afterNext calls back after the next collection, which finds that nobody needs what was made here.
func afterNext(call func([]metrics.Sample)) {
	type nothing struct{ _ *nothing } // with a pointer, or it would share memory with others
	runtime.AddCleanup(new(nothing), call, []metrics.Sample{{Name: "/gc/heap/live:bytes"}})
}
