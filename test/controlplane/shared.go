package controlplane

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/trainyard/trainyard/test/process"
)

// defaultTrainer is the folder below tools/ that pins the default versions of Trainer and JobSet.
const defaultTrainer = "trainer-2.3"

// defaultKueue is the folder below tools/ that pins the default version of Kueue's CRDs.
const defaultKueue = "kueue-0.19"

// options is a set of settings that identifies a control plane. Tests with equal options share the
// same control plane.
type options struct {
	trainer  string
	crdsOnly bool
	pods     bool
	kueue    string
	queueing bool
	alone    string
}

// Option configures the control plane that the function Start returns.
type Option func(*options)

// Trainer is a function that returns an Option. The Option selects the versions of Kubeflow Trainer and JobSet. The
// argument is the folder below tools/ that pins these versions, such as "trainer-2.3".
func Trainer(folder string) Option {
	return func(o *options) { o.trainer = folder }
}

// CRDsOnly is the option for a control plane that has Trainer's CRDs, but no webhooks or controllers of Trainer. With
// this option, JobSet is not installed. Use CRDsOnly for tests that need no controllers. Also use CRDsOnly for versions
// of Trainer whose controllers this repository does not build (see tools/README.md).
func CRDsOnly() Option {
	return func(o *options) { o.crdsOnly = true }
}

// Pods is the option to run the Kubernetes controllers that create the pods of Jobs, count resources for
// ResourceQuotas, and delete dependent objects. The control plane has no kubelet, so the pods stay
// Pending.
func Pods() Option {
	return func(o *options) { o.pods = true }
}

// Kueue returns the option that selects a version of Kueue. The argument is the folder below tools/ that pins the
// version, such as "kueue-0.15". By default, the control plane uses the newest version.
func Kueue(folder string) Option {
	return func(o *options) { o.kueue = folder }
}

// Queueing is the option to run Kueue's controller, which admits TrainJobs by the quota of their queues. Run
// `make kueue-tools` to build Kueue's controller.
func Queueing() Option {
	return func(o *options) { o.queueing = true }
}

// Alone is the option that reserves a control plane for the test with the given name. This test can change
// objects of the whole cluster without an effect on other tests.
func Alone(test string) Option {
	return func(o *options) { o.alone = test }
}

// sharedPlanes holds the control planes of this test binary.
var sharedPlanes struct {
	sync.Mutex
	underMain bool
	started   map[options]*outcome
}

// outcome is the result of an attempt to start a control plane. After a success, cp is the started control plane. After
// a failure, err is the error.
type outcome struct {
	once sync.Once
	cp   *ControlPlane
	err  error
}

// Main runs the tests of a package and then stops all control planes. Main returns the exit code for os.Exit. If a test
// failed, Main keeps the logs of the control planes. If all tests passed, Main removes the logs of the control planes.
func Main(m *testing.M) int {
	sharedPlanes.underMain = true
	code := m.Run()
	for _, o := range sharedPlanes.started {
		if o.cp == nil {
			continue
		}
		err := o.cp.stop()
		if code == 0 && err == nil {
			err = os.RemoveAll(o.cp.dir)
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "stopping the control plane: %v\n", err)
			code = max(code, 1)
		}
		if code != 0 {
			fmt.Fprintf(os.Stderr, "the control plane's logs are in %s\n", o.cp.dir)
		}
	}
	return code
}

// Start returns a control plane that tests of the same test binary share. The first call of Start with the given
// options starts the control plane. TestMain must call Main, because Main stops the control plane. Start skips
// the test if the flag -short is set.
func Start(t testing.TB, opts ...Option) *ControlPlane {
	t.Helper()
	if testing.Short() {
		t.Skip("a control plane takes seconds to start")
	}
	o := options{trainer: defaultTrainer, kueue: defaultKueue}
	for _, opt := range opts {
		opt(&o)
	}
	cp, err := startShared(o)
	if err != nil {
		t.Fatalf("starting a control plane: %v", err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("control plane logs: %s%s", strings.Join(cp.logs, " "), cp.crashedManagers())
		}
	})
	return cp
}

// startShared starts the control plane for the given options at the first call. Later calls with equal options
// return the same result, even if the start failed. Control planes with different options can start at the same
// time.
func startShared(o options) (*ControlPlane, error) {
	if !sharedPlanes.underMain {
		return nil, errors.New("no code would stop the control plane: write func TestMain(m *testing.M) { os.Exit(controlplane.Main(m)) }")
	}
	started := findOutcome(o)
	started.once.Do(func() { started.cp, started.err = launch(o) })
	return started.cp, started.err
}

// findOutcome returns the outcome for the given options. All calls with equal options return the same
// outcome, which is empty until startShared fills it.
func findOutcome(o options) *outcome {
	sharedPlanes.Lock()
	defer sharedPlanes.Unlock()
	if sharedPlanes.started == nil {
		sharedPlanes.started = map[options]*outcome{}
	}
	if sharedPlanes.started[o] == nil {
		sharedPlanes.started[o] = &outcome{}
	}
	return sharedPlanes.started[o]
}

// crashedManagers returns a text about each controller manager that has crashed: its name and the last lines of its
// log. A manager has crashed if it ends before the method "stop" is called.
func (cp *ControlPlane) crashedManagers() string {
	var text strings.Builder
	for _, p := range cp.managers {
		if p.Ended() {
			fmt.Fprintf(&text, "\n%s has ended: %s", p, process.Tail(p.LogPath()))
		}
	}
	return text.String()
}
