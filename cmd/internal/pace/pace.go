// Package pace has the garbage collector wait until a run has filled some memory. It would begin at 4 MB, and then
// whenever as much garbage has been made as is in use, which in short runs is most of the time.
package pace

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// What the heap grows to until the next collection: to all of the room, whatever little of it is in use, and where that is
// much, to as much again and some more.
const (
	room = 54 << 20 // bytes
	more = 16 << 20 // bytes
)

// besides is what the runtime takes for itself, with room to spare: stacks, tables, and memory that is free.
const besides = 24 << 20 // bytes

// most is the percentage of what is in use that garbage may come to where that is nearly nothing: the least
// size of a heap, 4 MiB, grows with it.
const most = 100 * room / (4 << 20)

// limited tells whether the room is a limit as well: the pace is that of the collection before until somebody has looked at
// what is in use now. On one CPU that comes late, and the benchmark W took half as much memory again.
var limited = os.Getenv("GOMEMLIMIT") == ""

// Collector sets the collector's pace for as long as the program runs. A GOGC in the environment has its
// way instead.
func Collector() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(most)
		if limited {
			debug.SetMemoryLimit(room + besides)
		}
		afterNext(adjust)
	}
}

// adjust says when the next collection is to begin, and asks to be called after that.
func adjust(live []metrics.Sample) {
	metrics.Read(live)
	inUse := max(1, int(live[0].Value.Uint64())) //nolint:gosec // no machine has as much memory
	garbage := max(room-inUse, inUse+more)
	debug.SetGCPercent(min(most, 100*garbage/inUse))
	if limited {
		debug.SetMemoryLimit(int64(inUse + garbage + besides))
	}
	afterNext(adjust)
}

// afterNext calls back after the next collection, which finds that nobody needs what was made here.
func afterNext(call func([]metrics.Sample)) {
	type nothing struct{ _ *nothing } // with a pointer, or it would share memory with others
	runtime.AddCleanup(new(nothing), call, []metrics.Sample{{Name: "/gc/heap/live:bytes"}})
}
