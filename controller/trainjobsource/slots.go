package trainjobsource

import (
	"sync"
	"time"
)

// busyDelay is the time until a round is repeated that ended at once, because a fetch was due while too many other
// TrainJobSources were fetching.
const busyDelay = time.Second

// slots limits the fetches of each namespace that run at the same time. A fetch from a server that does not answer occupies
// a worker for minutes; without the limit, the TrainJobSources of one tenant could occupy all workers. The limit for all
// namespaces together leaves a worker to TrainJobSources that need no fetch.
type slots struct {
	sync.Mutex
	most  int // of each namespace; 0 means 1
	total int // of all namespaces; 0 means 1
	all   int
	used  map[string]int
}

// take takes a slot of a namespace if one is free.
func (s *slots) take(namespace string) bool {
	s.Lock()
	defer s.Unlock()
	if s.used[namespace] >= max(s.most, 1) || s.all >= max(s.total, 1) {
		return false
	}
	if s.used == nil {
		s.used = map[string]int{}
	}
	s.used[namespace]++
	s.all++
	return true
}

// free frees a slot.
func (s *slots) free(namespace string) {
	s.Lock()
	defer s.Unlock()
	s.all--
	if s.used[namespace]--; s.used[namespace] == 0 {
		delete(s.used, namespace)
	}
}
