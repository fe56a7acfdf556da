package trainjobsource

import "sync"

// slots limits the number of fetches that run at the same time, because a fetch occupies a worker for minutes if the
// Git server does not answer. If the controller has at least two workers, the limit of each namespace prevents one
// tenant from occupying all workers. If the controller has at least three workers, the limit for all namespaces
// together leaves one worker free for rounds without a fetch.
type slots struct {
	sync.Mutex
	most  int // maximum for each namespace; 0 means 1
	total int // maximum for all namespaces together; 0 means 1
	all   int // the slots that are taken
	used  map[string]int
}

// setLimits computes the limits from the number of workers.
func (s *slots) setLimits(workers int) {
	s.most = workers / 2
	s.total = max(workers-1, s.most+1)
}

// take reserves a slot for a namespace and returns true, or returns false if no slot is free.
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
