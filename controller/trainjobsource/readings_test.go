package trainjobsource

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestReadings checks that a namespace must wait after a commit that took long to read, and that other namespaces need not wait.
func TestReadings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r readings
		r.read("slow", func() { time.Sleep(6 * time.Second) })
		r.read("usual", func() { time.Sleep(4 * time.Second) })
		if _, wait := r.mustWait("usual", time.Now()); wait {
			t.Error("a namespace must wait because of the commit of another one")
		}
		until, wait := r.mustWait("slow", time.Now())
		if left := time.Until(until); !wait || left != 116*time.Second {
			t.Errorf("wait %v, %v left, want 1m56s", wait, left)
		}
		time.Sleep(116 * time.Second)
		if _, wait := r.mustWait("slow", time.Now()); wait || len(r.rests) > 0 {
			t.Errorf("wait %v after the time has passed, %d entries", wait, len(r.rests))
		}
	})
}
