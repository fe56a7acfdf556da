package trainjobsource

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/api/v1alpha1"
)

// gate is a proxy in front of the API server. The gate counts the requests that create TrainJobs. When the count
// reaches the number "after", the gate calls the function "stop", and responds to the request with an error.
type gate struct {
	proxy   *httputil.ReverseProxy
	stop    func()
	after   int64
	creates atomic.Int64
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/trainjobs") && g.creates.Add(1) == g.after {
		g.stop()
		http.Error(w, "the request was lost", http.StatusBadGateway)
		return
	}
	g.proxy.ServeHTTP(w, r)
}

// newGate starts a gate, and returns the path of a kubeconfig that connects to the gate.
func (l *live) newGate(g *gate) string {
	l.t.Helper()
	config, _ := l.connection() // the gate adds the token, because clients send no token over plain HTTP
	transport, err := rest.TransportFor(config)
	if err != nil {
		l.t.Fatal(err)
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		l.t.Fatal(err)
	}
	g.proxy = &httputil.ReverseProxy{Transport: transport, FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	server := httptest.NewServer(g)
	l.t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return l.writeKubeconfig(server.URL, nil, "")
}

func (l *live) startReplica(kubeconfig string, more ...string) (*exec.Cmd, *bytes.Buffer) {
	l.t.Helper()
	cmd, messages := l.start(kubeconfig, append(more, "--leader-elect=true")...)
	l.t.Cleanup(func() {
		_ = cmd.Process.Kill() // ignore the error, because the process may have ended
		_ = cmd.Wait()
	})
	return cmd, messages
}

// removeLeases deletes the leases of earlier leaders, so that the next replica becomes the leader at once.
func (l *live) removeLeases() {
	l.t.Helper()
	if err := l.cp.Client().DeleteAllOf(l.t.Context(), &coordinationv1.Lease{}, client.InNamespace(v1alpha1.SystemNamespace)); err != nil {
		l.t.Fatal(err)
	}
}

// TestLeaderPausesWhileItApplies pauses the leader while it applies a commit. During the pause, another replica applies the
// remaining jobs of the commit, and a user deletes a run. When the paused leader continues, it must not create the deleted
// run again, and its process must end.
func TestLeaderPausesWhileItApplies(t *testing.T) {
	l := newLive(t)
	l.removeLeases()
	const jobs = 8
	l.pushJobs(jobs, 1)
	stopped := make(chan struct{})
	var leader *exec.Cmd
	g := &gate{after: 3}
	started := make(chan struct{})
	g.stop = func() {
		<-started
		if err := leader.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Error(err)
		}
		close(stopped)
	}
	leader, messages := l.startReplica(l.newGate(g))
	close(started)
	l.create()
	select {
	case <-stopped:
	case <-time.After(time.Minute):
		t.Fatalf("the leader creates no TrainJobs: %s", messages)
	}
	paused := time.Now()
	if got := len(l.runs()); got >= jobs {
		t.Fatalf("%d runs exist before the pause, want less than %d", got, jobs)
	}
	// The second replica becomes the leader only after the lease of the first replica has expired. A short lease makes
	// the test faster.
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: "trainyard-controller"}}
	if err := l.cp.Client().Patch(t.Context(), lease, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"leaseDurationSeconds":1}}`))); err != nil {
		t.Fatal(err)
	}
	o := l.options()
	o.LeaderElection = true
	l.run(o)
	var want []string
	for job := range jobs {
		want = append(want, fmt.Sprintf("job-%d/1 nodes=1", job))
	}
	l.waitRuns("the other replica finishes the round", want...)
	// Wait until the record confirms the first leader's runs. If the user deleted a run that is not confirmed, a new
	// leader would create the run again.
	l.waitRecord()
	last := l.list()["job-7"]
	if err := l.cp.Client().Delete(t.Context(), &last); err != nil {
		t.Fatal(err)
	}
	want = want[:jobs-1]
	l.waitRuns("a user deletes a run", want...)
	l.waitRecord()
	time.Sleep(time.Until(paused.Add(11 * time.Second)))
	if err := leader.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	err := leader.Wait()
	if err == nil || !strings.Contains(messages.String(), "leader election lost") {
		t.Errorf("the first leader ends with %v, want it to say that it lost the election\n%s", err, messages)
	}
	if diff := cmp.Diff(want, l.runs()); diff != "" {
		t.Errorf("runs: -want +got:\n%s\n%s", diff, messages)
	}
	l.waitRecord()
}

// TestShards runs a replica without a shard, and a replica of the shard "a". Each replica must have its own
// lease, and must handle only the TrainJobSources of its own shard. A label of the TrainJobSource selects the
// shard.
func TestShards(t *testing.T) {
	l := newLive(t)
	l.removeLeases()
	l.push("bert", "numNodes: 2")
	sharded := l.newSource("sharded")
	sharded.Namespace, sharded.Labels = tenants[1], map[string]string{v1alpha1.ShardLabel: "a"}
	if err := l.cp.Client().Create(t.Context(), sharded); err != nil {
		t.Fatal(err)
	}
	o := l.options()
	o.LeaderElection = true
	l.run(o)
	l.create()
	l.wait("True", v1alpha1.ReasonApplied)
	plain := l.object
	l.object = sharded
	if l.refresh(); l.object.Status.ObservedGeneration > 0 || len(l.object.Status.Conditions) > 0 {
		t.Errorf("the replica without a shard handles the TrainJobSource of a shard: %+v", l.object.Status)
	}
	replica, _ := l.startReplica(l.kubeconfig(), "--shard=a")
	l.wait("True", v1alpha1.ReasonApplied)
	holders := map[string]string{}
	var leases coordinationv1.LeaseList
	if err := l.cp.Client().List(t.Context(), &leases, client.InNamespace(v1alpha1.SystemNamespace)); err != nil {
		t.Fatal(err)
	}
	for _, lease := range leases.Items {
		holders[lease.Name] = *lease.Spec.HolderIdentity
	}
	if a, none := holders["trainyard-controller-a"], holders["trainyard-controller"]; a == "" || none == "" || a == none {
		t.Errorf("the holders of the leases are %v, want one for each shard", holders)
	}
	if err := replica.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := replica.Wait(); err != nil {
		t.Error(err)
	}
	commit := l.push("bert", "numNodes: 3")
	l.change(`{"metadata":{"annotations":{"trainyard.dev/sync":"again"}}}`)
	l.object = plain
	l.sync()
	l.waitApplied(commit)
	l.object = sharded
	if l.refresh(); l.object.Status.LastSync != "" {
		t.Errorf("the replica without a shard handles the TrainJobSource of a shard: %+v", l.object.Status)
	}
}

func (l *live) refresh() {
	l.t.Helper()
	if err := l.cp.Client().Get(l.t.Context(), client.ObjectKeyFromObject(l.object), l.object); err != nil {
		l.t.Fatal(err)
	}
}
