package trainjobsource

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/controller"
	"github.com/trainyard/trainyard/controller/trainjobsource/fetch"
	"github.com/trainyard/trainyard/controller/trainjobsource/plan"
	"github.com/trainyard/trainyard/test/controlplane"
	"github.com/trainyard/trainyard/test/gitserver"
	"github.com/trainyard/trainyard/test/poll"
)

type live struct {
	*world
	server *gitserver.Server
	git    *gitserver.Repository
	object *v1alpha1.TrainJobSource
	writes atomic.Int64 // requests of the controller that change objects
	reads  atomic.Int64 // other requests of the controller, except watches
	pushes int

	timeout time.Duration // how long the method eventually waits; liveTimeout if it is 0
}

// newLive prepares a test with an API server and a Git server. A test can then start the controller with the method
// "run", and create the TrainJobSource with the method "create".
func newLive(t *testing.T, opts ...controlplane.Option) *live {
	t.Helper()
	startWithCRD(t, opts...)
	l := &live{world: newWorld(t, plan.Policy{}, opts...), server: gitserver.New(t)}
	var err error
	if l.git, err = l.server.NewRepository("jobs"); err != nil {
		t.Fatal(err)
	}
	l.object = l.newSource("jobs")
	l.removeSources()
	t.Cleanup(l.removeSources)
	return l
}

func (l *live) newSource(name string) *v1alpha1.TrainJobSource {
	source := &v1alpha1.TrainJobSource{Spec: v1alpha1.TrainJobSourceSpec{URL: l.server.HTTP(l.git.Name), Interval: metav1.Duration{Duration: time.Hour}}}
	source.Namespace, source.Name = tenants[0], name
	return source
}

// removeSources deletes all TrainJobSources without waiting for the controller.
func (l *live) removeSources() {
	ctx := context.Background()
	var all v1alpha1.TrainJobSourceList
	if err := l.cp.Client().List(ctx, &all); err != nil {
		l.t.Fatal(err)
	}
	for i := range all.Items {
		source := &all.Items[i]
		if err := l.cp.Client().Delete(ctx, source); client.IgnoreNotFound(err) != nil {
			l.t.Error(err)
		}
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
		if err := l.cp.Client().Patch(ctx, source, patch); client.IgnoreNotFound(err) != nil {
			l.t.Error(err)
		}
	}
}

// account is the namespace and name of the controller's ServiceAccount. The ServiceAccount is one of the generated
// objects.
var account = client.ObjectKey{Namespace: v1alpha1.SystemNamespace, Name: "trainyard-controller"}

// connection returns the configuration of a client with the rights of the controller's
// ServiceAccount, and the token of this ServiceAccount.
func (l *live) connection() (*rest.Config, string) {
	l.t.Helper()
	request := &authenticationv1.TokenRequest{}
	of := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: account.Namespace, Name: account.Name}}
	if err := l.cp.Client().SubResource("token").Create(l.t.Context(), of, request); err != nil {
		l.t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(l.cp.Config())
	config.BearerToken = request.Status.Token
	return config, config.BearerToken
}

func (l *live) options() controller.Options {
	host := strings.TrimPrefix(l.server.HTTP(""), "http://")
	return controller.Options{
		Controllers: []string{controller.TrainJobSources}, Workers: 4, QPS: 200, Burst: 400, Log: logr.Discard(),
		Network: fetch.Network{PlainHTTPHosts: []string{strings.TrimSuffix(host, "/")}, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
	}
}

func (l *live) run(o controller.Options) {
	l.t.Helper()
	config, _ := l.connection()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Method != http.MethodGet {
				l.writes.Add(1)
			} else if r.URL.Query().Get("watch") == "" {
				l.reads.Add(1)
			}
			return next.RoundTrip(r)
		})
	})
	l.background(func(ctx context.Context) error { return controller.Run(ctx, config, o) })
}

// background calls a function in a goroutine, with a context that ends with the test.
func (l *live) background(f func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := f(ctx); err != nil {
			l.t.Errorf("the controller has ended: %v", err)
		}
	}()
	l.t.Cleanup(func() { cancel(); <-done })
}

func (l *live) create() {
	l.t.Helper()
	if err := l.cp.Client().Create(l.t.Context(), l.object); err != nil {
		l.t.Fatal(err)
	}
}

// push writes the file of a job, or removes the file if the argument "spec" is empty. push commits
// the change, and returns the hash of the commit.
func (l *live) push(job, spec string) string {
	l.t.Helper()
	l.commit(job, spec)
	text := ""
	if file := l.files[job+".yaml"]; file != nil {
		text = string(file.Data)
	}
	return l.pushFile(job+".yaml", text)
}

func (l *live) pushFile(name, text string) string {
	l.t.Helper()
	return l.pushFiles(map[string]string{name: text})
}

// pushFiles writes files to the Git repository, commits the changes, and returns the hash of the
// commit. If the text of a file is empty, pushFiles deletes the file.
func (l *live) pushFiles(files map[string]string) string {
	l.t.Helper()
	if err := l.git.Write(files); err != nil {
		l.t.Fatal(err)
	}
	l.pushes++
	commit, err := l.git.Commit(fmt.Sprintf("commit %d", l.pushes))
	if err != nil {
		l.t.Fatal(err)
	}
	return commit
}

// sync asks the controller to fetch from Git, and waits until the controller has fetched.
func (l *live) sync() {
	l.t.Helper()
	l.pushes++
	value := fmt.Sprint(l.pushes)
	l.change(fmt.Sprintf(`{"metadata":{"annotations":{"trainyard.dev/sync":%q}}}`, value))
	l.eventually(func(s *v1alpha1.TrainJobSource) error {
		if s.Status.LastSync != value {
			return fmt.Errorf("status.lastSync is %q, want %q", s.Status.LastSync, value)
		}
		return nil
	})
}

func (l *live) change(patch string) {
	l.t.Helper()
	if err := l.cp.Client().Patch(l.t.Context(), l.object, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		l.t.Fatal(err)
	}
}

// liveTimeout is the time limit for each wait for the controller. restartTimeout is the longer limit in the test that
// restarts the cluster. After an outage, the API server needs time to start, and the controller's clients wait up to 30
// s before they try again.
const (
	liveTimeout    = time.Minute
	restartTimeout = 3 * time.Minute
)

// eventually(check) calls the function "check" repeatedly, until "check" returns nil. Before each call, the method
// removes the finalizers of TrainJobs that are being deleted.
func (l *live) eventually(check func(*v1alpha1.TrainJobSource) error) {
	l.t.Helper()
	var last error
	poll.Until(l.t, cmp.Or(l.timeout, liveTimeout), func(ctx context.Context) error {
		l.completeDeletions()
		if err := l.cp.Client().Get(ctx, client.ObjectKeyFromObject(l.object), l.object); err != nil {
			return errors.Join(last, err)
		}
		last = check(l.object)
		return last
	})
}

// wait waits until the condition Ready has the given status and reason. The field observedGeneration of the condition
// must equal the current generation of the TrainJobSource.
func (l *live) wait(status metav1.ConditionStatus, reason string) {
	l.t.Helper()
	l.eventually(func(s *v1alpha1.TrainJobSource) error {
		ready := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ReadyCondition)
		if ready == nil || ready.Status != status || ready.Reason != reason || ready.ObservedGeneration != s.Generation {
			return fmt.Errorf("the condition Ready is %+v, want %s with reason %s; problems %+v", ready, status, reason, s.Status.Problems)
		}
		return nil
	})
}

func (l *live) waitObserved() {
	l.t.Helper()
	l.eventually(func(s *v1alpha1.TrainJobSource) error {
		if s.Status.ObservedGeneration != s.Generation {
			return fmt.Errorf("status.observedGeneration is %d, want %d", s.Status.ObservedGeneration, s.Generation)
		}
		return nil
	})
}

func (l *live) waitApplied(commit string) {
	l.t.Helper()
	l.eventually(func(s *v1alpha1.TrainJobSource) error {
		if s.Status.Applied == nil || s.Status.Applied.Commit != commit {
			return fmt.Errorf("the commit %+v is applied, want %s; conditions %+v", s.Status.Applied, commit, s.Status.Conditions)
		}
		return nil
	})
}

func (l *live) waitRuns(step string, want ...string) {
	l.t.Helper()
	l.eventually(func(s *v1alpha1.TrainJobSource) error {
		if got := l.runs(); strings.Join(got, ", ") != strings.Join(want, ", ") {
			return fmt.Errorf("%s: runs %v, want %v; status %+v", step, got, want, s.Status)
		}
		return nil
	})
}

func (l *live) condition(kind string) string {
	found := meta.FindStatusCondition(l.object.Status.Conditions, kind)
	if found == nil {
		return "none"
	}
	return string(found.Status) + " " + found.Reason
}

func (l *live) message() string {
	found := meta.FindStatusCondition(l.object.Status.Conditions, v1alpha1.ReadyCondition)
	return cmp.Or(found, &metav1.Condition{}).Message
}

func (l *live) endRun() { l.end("bert", trainer.TrainJobComplete) }

func fetchText(ctx context.Context, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %s: %s", url, response.Status, text)
	}
	return string(text), err
}
