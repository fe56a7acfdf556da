package pace

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
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

// A limit that stayed behind what is in use would have the collector run all the time.
func TestTheLimitFollowsWhatIsInUse(t *testing.T) {
	inUse := make([]byte, 4*room)
	runtime.GC()
	deadline := time.Now().Add(10 * time.Second)
	for limit := debug.SetMemoryLimit(-1); limit < 4*room+more || limit == math.MaxInt64; limit = debug.SetMemoryLimit(-1) {
		if time.Now().After(deadline) {
			t.Fatalf("the limit is %d MB where %d MB are in use", limit>>20, 4*room>>20)
		}
		time.Sleep(time.Millisecond)
	}
	runtime.KeepAlive(inUse)
}
