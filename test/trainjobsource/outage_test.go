package trainjobsource

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/controller/trainjobsource"
	"github.com/trainyard/trainyard/test/controlplane"
	"github.com/trainyard/trainyard/test/poll"
	"github.com/trainyard/trainyard/test/process"
)

// servers is a type with methods for tests. With these methods, a test can kill the programs of a control plane, and
// start these programs again with the same arguments.
type servers struct {
	t       *testing.T
	folder  string
	running []*process.Child // the programs that the test has started again
	starts  int
}

// find returns the id and the command line of a child process of this test. The child process must run the named
// program, and its command line must contain the control plane's folder.
func (s *servers) find(name string) (pid int, line []string) {
	s.t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		s.t.Fatal(err)
	}
	for _, file := range files {
		text, _ := os.ReadFile(file) // a process can end at any time
		line := strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
		status, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "status"))
		isChild := strings.Contains(string(status), fmt.Sprintf("\nPPid:\t%d\n", os.Getpid()))
		if isChild && filepath.Base(line[0]) == name && strings.Contains(string(text), s.folder+"/") {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			if err != nil {
				s.t.Fatal(err)
			}
			return pid, line
		}
	}
	s.t.Fatalf("no process %s of %s", name, s.folder)
	return 0, nil
}

// restart kills the named programs, waits for the duration "outage", and starts the programs again on the same data.
func (s *servers) restart(outage time.Duration, names ...string) {
	s.t.Helper()
	lines := map[string][]string{}
	for _, name := range names {
		var pid int
		pid, lines[name] = s.find(name)
		server, err := os.FindProcess(pid)
		if err == nil {
			err = server.Kill()
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
	time.Sleep(outage)
	for _, name := range names {
		s.start(name, lines[name])
	}
}

func (s *servers) start(name string, line []string) {
	s.t.Helper()
	s.starts++
	log, err := os.Create(filepath.Join(s.folder, fmt.Sprintf("%s-%d.log", name, s.starts)))
	if err != nil {
		s.t.Fatal(err)
	}
	script := filepath.Join(s.folder, fmt.Sprintf("%s-%d.sh", name, s.starts))
	if err := os.WriteFile(script, []byte(process.WrapperScript(line[0])), 0o700); err != nil {
		s.t.Fatal(err)
	}
	started, err := process.Run(exec.Command(script, line[1:]...), log)
	if err != nil {
		s.t.Fatal(err)
	}
	s.running = append(s.running, started)
}

func (s *servers) stop() {
	for _, server := range slices.Backward(s.running) {
		if server.Ended() {
			continue
		}
		if err := server.Stop(); err != nil {
			s.t.Error(err)
		}
	}
}

// TestRestartedCluster kills the API server and etcd while the controller starts jobs. The test then starts the API
// server and etcd again, on the same data. Each version of each job must have exactly one run.
func TestRestartedCluster(t *testing.T) {
	s := &servers{t: t}
	t.Cleanup(s.stop) // runs after the controller has ended
	l := newLive(t, controlplane.Alone(t.Name()))
	l.timeout = restartTimeout
	s.folder = filepath.Dir(l.cp.Kubeconfig())
	l.object.Spec.OnChange = v1alpha1.ChangeRunAlongside
	const jobs = 10
	first := l.pushJobs(jobs, 1)
	l.run(l.options())
	l.create()
	created := l.watchCreations(1)
	for range 3 {
		<-created
	}
	s.restart(time.Second, "etcd", "kube-apiserver")
	poll.Until(t, restartTimeout, func(ctx context.Context) error {
		return l.cp.Client().List(ctx, &trainer.TrainJobList{})
	})
	l.waitApplied(first) // before the next push, because the controller starts no runs of outdated versions
	commit := l.pushJobs(jobs, 2)
	l.sync()
	l.waitApplied(commit)
	l.waitRecord()
	var want []string
	for job := range jobs {
		for version := 1; version <= 2; version++ {
			want = append(want, fmt.Sprintf("job-%d/%d nodes=%d", job, version, version))
		}
	}
	l.waitRuns("after the restart", want...)
}

// TestWebhookDown checks that jobs wait while a validating webhook does not answer, and that the status names the webhook.
// After the webhook is removed, each job must run once.
func TestWebhookDown(t *testing.T) {
	l := newLive(t)
	url := "https://" + controlplane.FreeAddress(t) + "/validate"
	ignored, fail := admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.Fail
	hook := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "validator.trainer.example"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "validator.trainer.example", SideEffects: &ignored, FailurePolicy: &fail, AdmissionReviewVersions: []string{"v1"},
			ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &url},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{"CREATE", "UPDATE"},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{v1alpha1.TrainerGroup}, APIVersions: []string{"*"}, Resources: []string{"trainjobs"}},
			}},
		}},
	}
	remove := func() error { return l.cp.Client().Delete(context.Background(), hook) }
	if err := l.cp.Client().Create(t.Context(), hook); err != nil {
		t.Fatal(err)
	}
	removed := false
	t.Cleanup(func() {
		if !removed {
			if err := remove(); err != nil {
				t.Error(err)
			}
		}
	})
	controlplane.Eventually(t, func(ctx context.Context) error { // the API server needs a moment to use the webhook
		return l.expectRefused(ctx)
	})
	l.push("bert", "numNodes: 2")
	l.push("gpt", "numNodes: 3")
	l.run(l.options())
	l.create()
	l.wait("False", v1alpha1.ReasonApplyFailed)
	if got := l.condition(v1alpha1.ReconcilingCondition); got != "True ApplyFailed" || !strings.Contains(l.message(), "validator.trainer.example") {
		t.Errorf("Reconciling is %s with the message %q, want the name of the webhook", got, l.message())
	}
	if got := l.runs(); len(got) > 0 {
		t.Errorf("runs %v exist while the webhook is down", got)
	}
	l.push("gpt", "numNodes: 4")
	l.sync()
	if err := remove(); err != nil {
		t.Fatal(err)
	}
	removed = true
	controlplane.Eventually(t, func(ctx context.Context) error {
		if l.expectRefused(ctx) == nil {
			return errors.New("the API server still calls the webhook")
		}
		return nil
	})
	l.sync() // starts a round at once, without the delay that follows a failed round
	l.waitRuns("the webhook is gone", "bert/1 nodes=2", "gpt/2 nodes=4")
	l.wait("True", v1alpha1.ReasonApplied)
	l.waitRecord()
}

func (l *live) expectRefused(ctx context.Context) error {
	job := &trainer.TrainJob{Spec: trainer.TrainJobSpec{RuntimeRef: trainer.RuntimeRef{Name: "mpi"}}}
	job.Namespace, job.GenerateName = tenants[0], "probe-"
	if err := l.cp.Client().Create(ctx, job); err != nil {
		return nil //nolint:nilerr // the refusal is what the test waits for
	}
	return errors.Join(errors.New("the API server accepts TrainJobs"), l.cp.Client().Delete(ctx, job))
}

// TestClockJumps sets the controller's clock forward and back by a day. The controller must continue to fetch, must run
// no version of a job twice, and must keep as many ended runs as the history limits say.
func TestClockJumps(t *testing.T) {
	l := newLive(t)
	l.push("bert", "numNodes: 1")
	l.object.Spec.HistoryLimits = v1alpha1.HistoryLimits{Succeeded: new(int32(1)), Failed: new(int32(1))}
	var offset atomic.Int64
	l.runController(func(c *trainjobsource.Controller) {
		c.Rounds.Now = func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }
	})
	l.create()
	l.waitRuns("create", "bert/1 nodes=1")
	const day = 24 * time.Hour
	for i, jump := range []time.Duration{day, -day, 0, -day, day, 0} {
		l.push("bert", fmt.Sprintf("numNodes: %d", i+2)) // before the jump, because the first round after it fetches
		offset.Store(int64(jump))
		before := fmt.Sprintf("bert/%d nodes=%d", i+1, i+1)
		l.end(l.runName(fmt.Sprintf("bert/%d", i+1)), trainer.TrainJobComplete) // causes a round, which must fetch
		l.waitRuns(fmt.Sprintf("the clock is wrong by %s", jump), before, fmt.Sprintf("bert/%d nodes=%d", i+2, i+2))
	}
	l.waitRecord()
}
