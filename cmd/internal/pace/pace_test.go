package pace

import (
	"os"
	"runtime"
	"testing"
)

// sink keeps what it holds from being made on the stack.
var sink []byte

func TestMain(m *testing.M) {
	Collector()
	os.Exit(m.Run())
}

// collections counts those that making some MB of garbage takes.
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

func TestCollectsWhenTheRoomIsFilled(t *testing.T) {
	// What is made while a collection runs is not collected by it, so that fewer are needed.
	if n := collections(40 * room >> 20); n < 5 || n > 80 {
		t.Errorf("%d collections of garbage that fills the room 40 times", n)
	}
}

func TestCollectsAsUsualWhereMuchIsInUse(t *testing.T) {
	inUse := make([]byte, 2*room)
	if n := collections(20 * room >> 20); n < 3 || n > 20 {
		t.Errorf("%d collections of ten times as much garbage as is in use", n)
	}
	runtime.KeepAlive(inUse)
}
