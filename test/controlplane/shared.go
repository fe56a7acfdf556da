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

// defaultTrainer is the tools folder used by tests that do not ask for another.
const defaultTrainer = "trainer-2.3"

// defaultKueue is the same for Kueue, whose CRDs are everywhere.
const defaultKueue = "kueue-0.19"

// options tell control planes apart; equal options share one.
type options struct {
	trainer  string
	crdsOnly bool
	pods     bool
	kueue    string
	alone    string
}

// Option changes what Start starts.
type Option func(*options)

// Trainer picks the folder below tools/ that pins Trainer and JobSet, such as "trainer-2.3".
func Trainer(folder string) Option {
	return func(o *options) { o.trainer = folder }
}

// CRDsOnly installs Trainer's CRDs and nothing else: no webhooks, no controllers, no JobSet.
// It serves versions of Trainer that tools/ pins without building them.
func CRDsOnly() Option {
	return func(o *options) { o.crdsOnly = true }
}

// Pods has Jobs become pods, which nobody runs, ResourceQuotas counted, and what belongs to something deleted
// deleted with it, by Kubernetes' own controllers.
func Pods() Option {
	return func(o *options) { o.pods = true }
}

// Kueue picks the folder below tools/ whose CRDs of Kueue are installed, instead of the newest.
func Kueue(folder string) Option {
	return func(o *options) { o.kueue = folder }
}

// Alone keeps a control plane to one test, which has a name for it: what it does to the whole cluster others must not see.
func Alone(test string) Option {
	return func(o *options) { o.alone = test }
}

// shared holds the control planes of this test binary.
var shared struct {
	sync.Mutex
	underMain bool
	started   map[options]*outcome
}

// outcome is a started control plane or the reason why there is none.
type outcome struct {
	once sync.Once
	cp   *ControlPlane
	err  error
}

// Main runs the tests of a package and then stops whatever Start started. It returns the
// exit code for os.Exit. Logs are kept when a test fails, and removed otherwise.
func Main(m *testing.M) int {
	shared.underMain = true
	code := m.Run()
	for _, o := range shared.started {
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

// Start returns the control plane of this test binary, starting it on first use. TestMain
// must run Main, which stops it. With -short the test is skipped.
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
			t.Logf("control plane logs: %s%s", strings.Join(cp.logs, " "), cp.casualties())
		}
	})
	return cp
}

// startShared starts a control plane once; a failure is remembered like a success. Different
// ones may start at the same time.
func startShared(o options) (*ControlPlane, error) {
	if !shared.underMain {
		return nil, errors.New("nothing would stop it: write func TestMain(m *testing.M) { os.Exit(controlplane.Main(m)) }")
	}
	started := outcomeOf(o)
	started.once.Do(func() { started.cp, started.err = launch(o) })
	return started.cp, started.err
}

// outcomeOf is what becomes of these options, perhaps in the future.
func outcomeOf(o options) *outcome {
	shared.Lock()
	defer shared.Unlock()
	if shared.started == nil {
		shared.started = map[options]*outcome{}
	}
	if shared.started[o] == nil {
		shared.started[o] = &outcome{}
	}
	return shared.started[o]
}

// casualties tells which managers have ended although nobody stopped them.
func (cp *ControlPlane) casualties() string {
	var text strings.Builder
	for _, p := range cp.managers {
		if p.Ended() {
			fmt.Fprintf(&text, "\n%s has ended: %s", p, process.Tail(p.LogPath()))
		}
	}
	return text.String()
}
