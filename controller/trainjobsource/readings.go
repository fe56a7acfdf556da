package trainjobsource

import (
	"sync"
	"time"
)

const (
	// slowReading is the time to read a commit after which the namespace must wait. Usual commits need less than a second.
	slowReading = 5 * time.Second
	// restFactor is the length of the wait, as a multiple of the time to read the commit.
	restFactor = 20
)

// readings bounds the share of the controller's time in which it reads the commits of one namespace. The limits of package decode bound
// the time for one commit only as far as the costs of its libraries are known.
type readings struct {
	reading sync.Mutex // locked while a commit is read, so that the time does not depend on other commits

	sync.Mutex
	rests map[string]time.Time // the time until which a namespace must wait
}

// read calls a function that reads a commit of the namespace.
func (r *readings) read(namespace string, function func()) {
	r.reading.Lock()
	defer r.reading.Unlock()
	began := time.Now()
	function()
	if spent := time.Since(began); spent >= slowReading {
		r.Lock()
		defer r.Unlock()
		if r.rests == nil {
			r.rests = map[string]time.Time{}
		}
		r.rests[namespace] = time.Now().Add(restFactor * spent)
	}
}

// mustWait returns the time until which no commit of the namespace may be read, and whether this time is in the future.
func (r *readings) mustWait(namespace string, now time.Time) (until time.Time, wait bool) {
	r.Lock()
	defer r.Unlock()
	until = r.rests[namespace]
	if !now.Before(until) {
		delete(r.rests, namespace)
		return until, false
	}
	return until, true
}
