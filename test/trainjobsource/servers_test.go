package trainjobsource

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/api/v1alpha1"
)

// list(w) simulates a Git server that is asked for the branches of a repository. The function writes the server's
// response to w. The repository has one branch, "main", and one commit.
func list(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
	const commit = "0123456789012345678901234567890123456789"
	line := func(text string) string { return fmt.Sprintf("%04x%s", len(text)+4, text) }
	_, _ = io.WriteString(w, line("# service=git-upload-pack\n")+"0000"+ // the client may have disconnected
		line(commit+" HEAD\x00shallow ofs-delta symref=HEAD:refs/heads/main\n")+line(commit+" refs/heads/main\n")+"0000")
}

// badServers maps names to simulated servers. Each server sends a wrong response, or no response.
var badServers = map[string]struct {
	answer func(w http.ResponseWriter, r *http.Request)
	want   string
}{
	"hanging": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "did not finish in time"},
	"resetting": {func(w http.ResponseWriter, _ *http.Request) {
		if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
			_ = conn.(*net.TCPConn).SetLinger(0) // so that Close resets the connection
			_ = conn.Close()
		}
	}, "connection reset"},
	"garbage": {func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
		_, _ = io.WriteString(w, strings.Repeat("\x00\xff\x1b[31m", 1000))
	}, "reading the server's list of branches and tags"},
	"endless": {func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			list(w)
			return
		}
		w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
		_, err := io.WriteString(w, "00350008NAK\nPACK\x00\x00\x00\x02\x00\x00\xff\xff")
		for err == nil {
			_, err = io.WriteString(w, strings.Repeat("x", 1<<16))
		}
	}, "fetching http://"},
}

// TestBadGitServers checks TrainJobSources whose Git servers hang, reset connections, send garbage or send an endless
// response. Each TrainJobSource with a bad server must report the error in its status, and become ready when its server
// recovers. A TrainJobSource with a working server must not be delayed.
func TestBadGitServers(t *testing.T) {
	l := newLive(t)
	l.push("bert", "numNodes: 2")
	o := l.options()
	target, err := url.Parse(l.server.HTTP(""))
	if err != nil {
		t.Fatal(err)
	}
	working := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	recovered := map[string]chan struct{}{}
	for name, bad := range badServers {
		well := make(chan struct{})
		recovered[name] = well
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-well:
				working.ServeHTTP(w, r)
			default:
				bad.answer(w, r)
			}
		}))
		t.Cleanup(server.Close)
		o.Network.PlainHTTPHosts = append(o.Network.PlainHTTPHosts, strings.TrimPrefix(server.URL, "http://"))
		source := l.newSource(name)
		source.Spec.URL, source.Spec.Timeout, source.Spec.DryRun = server.URL+"/"+l.git.Name, metav1.Duration{Duration: 2 * time.Second}, true
		if err := l.cp.Client().Create(t.Context(), source); err != nil {
			t.Fatal(err)
		}
	}
	l.run(o)
	l.create()
	l.waitRuns("another TrainJobSource", "bert/1 nodes=2")
	for name, bad := range badServers {
		l.object = l.newSource(name)
		l.wait("False", v1alpha1.ReasonFetchFailed)
		if got := l.message(); !strings.Contains(got, bad.want) || strings.ContainsAny(got, "\x00\x1b\n") {
			t.Errorf("%s: the message is %q, want %q and no control characters", name, got, bad.want)
		}
		close(recovered[name])
		l.sync()
		l.wait("True", v1alpha1.ReasonDryRun)
	}
}

// TestHangingServersDoNotDelayOtherTenants creates many TrainJobSources of one tenant, with a Git server that hangs.
// The controller must still have a free worker for the TrainJobSource of another tenant.
func TestHangingServersDoNotDelayOtherTenants(t *testing.T) {
	l := newLive(t)
	l.push("bert", "numNodes: 2")
	hanging, err := net.Listen("tcp", "127.0.0.1:0") // nobody accepts the connections
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = hanging.Close() })
	o := l.options()
	o.Network.PlainHTTPHosts = append(o.Network.PlainHTTPHosts, hanging.Addr().String())
	for i := range 2 * o.Workers {
		source := l.newSource(fmt.Sprintf("hanging-%d", i))
		source.Spec.URL, source.Spec.Timeout = "http://"+hanging.Addr().String()+"/jobs.git", metav1.Duration{Duration: 10 * time.Minute}
		if err := l.cp.Client().Create(t.Context(), source); err != nil {
			t.Fatal(err)
		}
	}
	l.run(o)
	time.Sleep(time.Second) // by then, TrainJobSources whose servers hang occupy half of the workers
	l.object.Namespace = tenants[1]
	l.create()
	l.wait("True", v1alpha1.ReasonApplied)
	if err := l.cp.Client().Get(t.Context(), client.ObjectKeyFromObject(l.object), l.object); err != nil {
		t.Fatal(err)
	}
	var waiting v1alpha1.TrainJobSourceList
	if err := l.cp.Client().List(t.Context(), &waiting, client.InNamespace(tenants[0])); err != nil {
		t.Fatal(err)
	}
	for _, source := range waiting.Items {
		if len(source.Status.Conditions) > 0 {
			t.Errorf("%s does not hang: %+v", source.Name, source.Status.Conditions)
		}
	}
}

// TestDeletedBranch checks that runs stay when the branch with their jobs is deleted, and that the status reports the
// missing branch.
func TestDeletedBranch(t *testing.T) {
	l := newLive(t)
	applied := l.push("gpt", "numNodes: 2")
	if err := l.git.Branch("experiment"); err != nil {
		t.Fatal(err)
	}
	l.object.Spec.Ref = &v1alpha1.GitRef{Branch: "experiment"}
	l.object.Spec.Prune = v1alpha1.PruneAlways
	l.run(l.options())
	l.create()
	l.waitApplied(applied)
	l.waitRuns("create", "gpt/1 nodes=2")
	if err := l.git.DeleteBranch("experiment"); err != nil {
		t.Fatal(err)
	}
	l.sync()
	l.wait("False", v1alpha1.ReasonFetchFailed)
	if !strings.Contains(l.message(), "experiment") || l.object.Status.Applied.Commit != applied {
		t.Errorf("the message is %q and the applied commit %+v, want the name of the branch and %s", l.message(), l.object.Status.Applied, applied)
	}
	l.waitState("gpt", "Running", "gpt")
	l.waitRuns("the branch is deleted", "gpt/1 nodes=2")
}
