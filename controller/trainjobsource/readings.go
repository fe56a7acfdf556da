package trainjobsource

import (
	"sync"
	"time"
)

const (
	// waitPerReading is the factor between reading time and waiting time. If the controller reads commits of a
	// namespace for one second, the wait before the next fetch of the namespace grows by waitPerReading seconds. In the
	// long run, the commits of a namespace can therefore occupy the controller for about 1/20 of the time.
	waitPerReading = 20
	// freeReading is the budget of reading time that each namespace has. Whenever the controller reads a commit that it
	// fetched for the namespace, it uses a part of this budget. If the budget is used up, the next fetch for the
	// namespace must wait. While the controller reads no commits for the namespace, the budget slowly becomes full
	// again.
	freeReading = 10 * time.Second
)

// readings is a limiter. For each namespace, it limits the time that the controller spends on reading commits. The limits
// of package decode are not enough, because the YAML library and kustomize can be slow for inputs that nobody has tried
// yet.
type readings struct {
	reading sync.Mutex // locked while a commit is read, so that the time does not depend on other commits

	sync.Mutex
	ends map[string]time.Time // for each namespace, the end of its wait if freeReading were 0
}

// read is a method that calls the given function, and measures how long this function runs. The given function must
// read a Git commit that the controller has fetched for the namespace.
func (r *readings) read(namespace string, function func()) {
	r.reading.Lock()
	defer r.reading.Unlock()
	began := time.Now()
	defer func() { r.add(namespace, time.Since(began)) }()
	function()
}

// add increases the time that the namespace must wait before its next fetch. The argument "spent" is the time that the
// controller has spent on reading a commit.
func (r *readings) add(namespace string, spent time.Duration) {
	r.Lock()
	defer r.Unlock()
	if r.ends == nil {
		r.ends = map[string]time.Time{}
	}
	end, now := r.ends[namespace], time.Now()
	if end.Before(now) {
		end = now
	}
	r.ends[namespace] = end.Add(waitPerReading * spent)
}

// left is a method that returns how long the namespace must still wait before its next fetch. The result is 0 if the
// namespace need not wait. If somebody sets the clock of the machine, the result stays the same, because time.Now also
// reads a monotonic clock.
func (r *readings) left(namespace string) time.Duration {
	r.Lock()
	defer r.Unlock()
	end, known := r.ends[namespace]
	left := time.Until(end)
	if !known || left <= 0 {
		delete(r.ends, namespace)
		return 0
	}
	return max(left-waitPerReading*freeReading, 0)
}
