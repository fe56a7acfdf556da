package trainjobsource

import (
	"container/list"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/controller/trainjobsource/decode"
)

// state holds the data that the controller remembers about a TrainJobSource between two rounds. Only one round of a
// TrainJobSource runs at a time, so its state needs no lock.
type state struct {
	key  types.NamespacedName
	uid  types.UID
	size int64 // of the commit, in bytes

	// generation and sync are the values of metadata.generation and of the annotation trainyard.dev/sync at the last
	// fetch.
	generation int64
	sync       string

	due      time.Time // when the next fetch is due
	waiting  time.Time // when a change began to wait for other rounds; zero if no change waits
	failures int       // the number of successive rounds that failed with an error that may be temporary
	fetched  time.Time // when the last successful fetch began
	failure  *failure  // why the last fetch failed; nil if it succeeded
	keys     string    // the digest of the keys with which the commit was verified
	commit   *commit   // nil if no commit was fetched, or if it was dropped to save memory
	settled  settled   // the last complete round that found nothing to do
	answers  answers   // of the API server about denied jobs
	written  written
}

// commit is a fetched commit with its TrainJobs.
type commit struct {
	hash, ref string
	tree      decode.Tree
	failure   *failure // why the folder could not be read; nil if it was read
}

// The struct "written" contains the status that the controller wrote last. The next round needs this status, because
// the cache may still contain an older status.
type written struct {
	version string // the resourceVersion of the object on which the status is based
	status  v1alpha1.TrainJobSourceStatus
}

// maxMemory is the maximum size of all commits in memory, in bytes, as estimated by sizeOf.
const maxMemory = 256 << 20

// memory holds the states of all TrainJobSources. If the commits of all states together become too large, the least
// recently used commits are dropped. The controller fetches dropped commits again.
type memory struct {
	sync.Mutex
	limit  int64 // maxMemory if it is 0
	size   int64
	recent list.List // of *state, most recently used first
	states map[types.NamespacedName]*list.Element
	// The map "events" contains a number for each TrainJobSource. The number counts the events that require a round:
	// events about the TrainJobSource, and events about its TrainJobs.
	events map[types.NamespacedName]int
}

// countEvent adds 1 to the number of events of a TrainJobSource.
func (m *memory) countEvent(key types.NamespacedName) {
	m.Lock()
	defer m.Unlock()
	if m.events == nil {
		m.events = map[types.NamespacedName]int{}
	}
	m.events[key]++
}

// eventCount returns the number of events of a TrainJobSource so far.
func (m *memory) eventCount(key types.NamespacedName) int {
	m.Lock()
	defer m.Unlock()
	return m.events[key]
}

// get returns the state of a TrainJobSource, and creates the state if it does not exist yet. If the TrainJobSource was
// deleted and created again, the method replaces the old state with a new, empty state.
func (m *memory) get(key types.NamespacedName, uid types.UID) *state {
	m.Lock()
	defer m.Unlock()
	if m.states == nil {
		m.states = map[types.NamespacedName]*list.Element{}
	}
	if element, known := m.states[key]; known {
		if found := element.Value.(*state); found.uid == uid {
			m.recent.MoveToFront(element)
			return found
		}
		m.remove(element)
	}
	created := &state{key: key, uid: uid}
	m.states[key] = m.recent.PushFront(created)
	return created
}

// keep(s, c) stores the commit c in the state s. If the total size of all commits in memory now exceeds the limit,
// "keep" drops the least recently used commits of other states.
func (m *memory) keep(s *state, c *commit) {
	m.Lock()
	defer m.Unlock()
	m.drop(s)
	s.commit, s.size = c, sizeOf(c.tree)
	m.size += s.size
	limit := m.limit
	if limit == 0 {
		limit = maxMemory
	}
	for element := m.recent.Back(); element != nil && m.size > limit; element = element.Prev() {
		if old := element.Value.(*state); old != s {
			m.drop(old)
		}
	}
}

// known(s) returns the commit of the state s, or nil if the commit is not in memory. Rounds of other TrainJobSources
// can drop the commit at any time.
func (m *memory) known(s *state) *commit {
	m.Lock()
	defer m.Unlock()
	return s.commit
}

// discard removes a TrainJobSource's commit from memory. The state of the TrainJobSource stays in
// memory.
func (m *memory) discard(s *state) {
	m.Lock()
	defer m.Unlock()
	m.drop(s)
}

// drop does the same as discard, but the caller of drop must hold the lock.
func (m *memory) drop(s *state) {
	m.size -= s.size
	s.commit, s.size = nil, 0
}

// forget removes the state of a TrainJobSource.
func (m *memory) forget(key types.NamespacedName) {
	m.Lock()
	defer m.Unlock()
	delete(m.events, key)
	if element, known := m.states[key]; known {
		m.remove(element)
	}
}

func (m *memory) remove(element *list.Element) {
	s := element.Value.(*state)
	m.drop(s)
	delete(m.states, s.key)
	m.recent.Remove(element)
}

// sizeOf estimates how many bytes of memory the TrainJobs and problems of a commit need.
func sizeOf(tree decode.Tree) (size int64) {
	const perEntry = 200 // for the pointers and numbers of a TrainJob or a problem
	for _, job := range tree.Jobs {
		size += perEntry + sizeOfValue(job.Object.Object)
	}
	for _, problem := range tree.Problems {
		size += perEntry + int64(len(problem.Message)+len(problem.File))
	}
	return size
}

// sizeOfValue estimates how many bytes of memory a decoded value needs: 16 for the value itself, and more for its contents. Go
// allocates memory for at least eight keys of a map, with 16 bytes for each key and 16 bytes for each value.
func sizeOfValue(value any) int64 {
	size := int64(16)
	switch v := value.(type) {
	case string:
		size += 16 + int64(len(v))
	case []any:
		size += 24
		for _, item := range v {
			size += sizeOfValue(item)
		}
	case map[string]any:
		size += 48 + 300*int64((len(v)+7)/8)
		for key, item := range v {
			size += int64(len(key)) + sizeOfValue(item)
		}
	default:
		size += 8
	}
	return size
}
