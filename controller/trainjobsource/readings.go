package trainjobsource

import (
	"sync"
	"time"
)

const (
	// waitPerReading is the number of seconds that a namespace must wait after each second of reading. In the long run, the commits of a
	// namespace can therefore occupy the controller for about 1/20 of the time.
	waitPerReading = 20
	// freeReading is the reading time that requires no wait. The namespace can use it again after a time without reading.
	freeReading = 10 * time.Second
)

// readings limits how much time the controller spends on reading the commits of each namespace. Package decode has limits, too, but
// YAML and kustomize can be slow in ways that nobody knows yet.
type readings struct {
	reading sync.Mutex // locked while a commit is read, so that the time does not depend on other commits

	sync.Mutex
	ends map[string]time.Time // for each namespace, the end of the wait if no reading were free
}

// read calls a function that reads a commit of the namespace.
func (r *readings) read(namespace string, function func()) {
	r.reading.Lock()
	defer r.reading.Unlock()
	began := time.Now()
	defer func() { r.add(namespace, time.Now(), time.Since(began)) }()
	function()
}

// add adds the wait for a time of reading.
func (r *readings) add(namespace string, now time.Time, spent time.Duration) {
	r.Lock()
	defer r.Unlock()
	if r.ends == nil {
		r.ends = map[string]time.Time{}
	}
	end := r.ends[namespace]
	if end.Before(now) {
		end = now
	}
	r.ends[namespace] = end.Add(waitPerReading * spent)
}

// mustWait returns the time until which the namespace must wait before the next fetch, and whether this time is in the future.
func (r *readings) mustWait(namespace string, now time.Time) (until time.Time, wait bool) {
	r.Lock()
	defer r.Unlock()
	end := r.ends[namespace]
	if end.Before(now) {
		delete(r.ends, namespace)
	}
	until = end.Add(-waitPerReading * freeReading)
	return until, now.Before(until)
}
