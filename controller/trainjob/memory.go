package trainjob

import (
	"strings"
	"sync"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/api/jobs"
	"github.com/trainyard/trainyard/api/v1alpha1"
)

// memory holds the last reported state of each TrainJob. The annotations of a TrainJob are not sufficient: they contain
// only a part of this state, and the TrainJob in the cache may lack the newest annotations.
type memory struct {
	lock   sync.Mutex
	states map[types.NamespacedName]remembered
}

type remembered struct {
	uid types.UID
	state
}

// One of these suffixes can follow the UID in the annotation v1alpha1.ObservedAnnotation. The suffix tells a restarted
// controller which stages it must not report or count again.
const (
	// startedMark means that the controller has reported the first start of the training.
	startedMark = "/started"
	// endedMark means that the controller has reported the end of the TrainJob.
	endedMark = "/ended"
)

// mark returns startedMark, endedMark or an empty string. The value of the annotation v1alpha1.ObservedAnnotation is
// the UID of the TrainJob, followed by the returned string.
func (s state) mark() string {
	switch {
	case s.ended:
		return endedMark
	case s.started:
		return startedMark
	}
	return ""
}

// recall returns the last reported state of a TrainJob. If the program was restarted, recall reads the state from the
// TrainJob's annotations. recall ignores annotations that a user copied from another TrainJob.
func (m *memory) recall(job *trainer.TrainJob) state {
	m.lock.Lock()
	defer m.lock.Unlock()
	if found, ok := m.states[client.ObjectKeyFromObject(job)]; ok && found.uid == job.UID {
		return found.state
	}
	uid, ended := strings.CutSuffix(job.Annotations[v1alpha1.ObservedAnnotation], endedMark)
	uid, started := strings.CutSuffix(uid, startedMark)
	if uid != string(job.UID) {
		return state{}
	}
	s := state{Phase: jobs.Phase(job.Annotations[v1alpha1.PhaseAnnotation]), Message: job.Annotations[v1alpha1.MessageAnnotation]}
	s.wasSuspended = s.Phase == jobs.Suspended
	s.ended, s.started = ended && s.isFinal(), started || s.isFinal() || s.Phase == jobs.Running
	return s
}

func (m *memory) remember(job *trainer.TrainJob, s state) {
	m.lock.Lock()
	defer m.lock.Unlock()
	if m.states == nil {
		m.states = map[types.NamespacedName]remembered{}
	}
	m.states[client.ObjectKeyFromObject(job)] = remembered{job.UID, s}
}

func (m *memory) forget(key types.NamespacedName) {
	m.lock.Lock()
	defer m.lock.Unlock()
	delete(m.states, key)
}
