package trainjobsource

import "testing"

// TestSlots checks how many fetches of one namespace, and of many namespaces, can run at the same time.
func TestSlots(t *testing.T) {
	for _, tc := range []struct{ workers, one, many int }{{1, 1, 1}, {2, 1, 2}, {3, 1, 2}, {4, 2, 3}, {10, 5, 9}} {
		var s slots
		s.setLimits(tc.workers)
		one := 0
		for s.take("team-a") {
			one++
		}
		many := one
		for ; s.take(string(rune('a' + many))); many++ {
		}
		if one != tc.one || many != tc.many {
			t.Errorf("%d workers: %d fetches of one namespace and %d of all, want %d and %d", tc.workers, one, many, tc.one, tc.many)
		}
		s.free("team-a")
		if !s.take("team-b") {
			t.Errorf("%d workers: no slot is free after a fetch has ended", tc.workers)
		}
	}
}
