package trainjobsource

import (
	"sync"
	"time"
)

const (
	// freeReading is the time for which the commits of a namespace may be read before the namespace must wait.
	freeReading = 10 * time.Second
	// readingPrice is the time after which the controller may read commits of a namespace for one more second, in seconds. A namespace
	// can therefore use 1/20 of the time in the long run.
	readingPrice = 20
)

// readings bounds the share of the time in which the controller reads the commits of one namespace. The limits of package decode bound
// the time for one commit only as far as the costs of its libraries are known.
type readings struct {
	reading sync.Mutex // locked while a commit is read, so that the time does not depend on other commits

	sync.Mutex
	paid map[string]time.Time // for each namespace, when all its reading time so far will be paid for
}

// read calls a function that reads a commit of the namespace.
func (r *readings) read(namespace string, function func()) {
	r.reading.Lock()
	defer r.reading.Unlock()
	began := time.Now()
	defer func() { r.charge(namespace, time.Now(), time.Since(began)) }()
	function()
}

// charge adds reading time to the account of a namespace.
func (r *readings) charge(namespace string, now time.Time, spent time.Duration) {
	r.Lock()
	defer r.Unlock()
	if r.paid == nil {
		r.paid = map[string]time.Time{}
	}
	paid := r.paid[namespace]
	if paid.Before(now) {
		paid = now
	}
	r.paid[namespace] = paid.Add(readingPrice * spent)
}

// mustWait returns the time until which the namespace must wait before the next fetch, and whether this time is in the future.
func (r *readings) mustWait(namespace string, now time.Time) (until time.Time, wait bool) {
	r.Lock()
	defer r.Unlock()
	paid := r.paid[namespace]
	if paid.Before(now) {
		delete(r.paid, namespace)
	}
	until = paid.Add(-readingPrice * freeReading)
	return until, now.Before(until)
}
