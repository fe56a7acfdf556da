package trainjobsource

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/controller/trainjobsource"
	"github.com/trainyard/trainyard/controller/trainjobsource/fetch"
	"github.com/trainyard/trainyard/test/repo"
)

func base64Of(data []byte) string { return base64.StdEncoding.EncodeToString(data) }

func sorted(values []string) []string { return slices.Sorted(slices.Values(values)) }

func writeFile(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// start starts the program trainyard-controller.
func (l *live) start(program, kubeconfig string) (*exec.Cmd, *bytes.Buffer) {
	l.t.Helper()
	host := strings.TrimSuffix(strings.TrimPrefix(l.server.HTTP(""), "http://"), "/")
	var messages bytes.Buffer
	cmd := exec.Command(program, "--kubeconfig", kubeconfig, "--metrics-address=", "--health-address=", "--webhook-address=",
		"--leader-elect=false", "--allow-http", host, "--allow-address", "127.0.0.0/8", "--log-format", "json")
	cmd.Stderr = &messages
	if err := cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	return cmd, &messages
}

// TestKilledController kills the program at random times while it starts jobs. The last process must reach the state in
// which each job has exactly one run of its version.
func TestKilledController(t *testing.T) {
	l := newLive(t)
	program := filepath.Join(t.TempDir(), "trainyard-controller")
	if err := repo.Compile("trainyard-controller", program); err != nil {
		t.Fatal(err)
	}
	kubeconfig := l.kubeconfig()
	l.object.Spec.OnChange = v1alpha1.ChangeRunAlongside
	var want []string
	random := rand.New(rand.NewPCG(5, 6))
	for kill := range 4 {
		for job := range 5 {
			l.push(fmt.Sprintf("job-%d", job), fmt.Sprintf("numNodes: %d", kill+1))
		}
		if kill == 0 {
			l.create()
		}
		cmd, _ := l.start(program, kubeconfig)
		// The program needs about a second until it creates TrainJobs.
		time.Sleep(time.Second + time.Duration(random.IntN(1000))*time.Millisecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // reports the signal
	}
	commit := l.push("last", "numNodes: 1") // only the last process can apply this commit
	cmd, messages := l.start(program, kubeconfig)
	l.waitApplied(commit)
	newest := map[string]int{}
	for _, run := range l.runs() {
		job, _, _ := strings.Cut(run, "/")
		if strings.HasSuffix(run, "nodes=4") {
			newest[job]++
		}
		if slices.Contains(want, run) {
			t.Errorf("the run %s exists twice", run)
		}
		want = append(want, run)
	}
	for job := range 5 {
		if name := fmt.Sprintf("job-%d", job); newest[name] != 1 {
			t.Errorf("%s has %d runs of the last version, want 1: %v", name, newest[name], l.runs())
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("after an interrupt, the program ends with %v\n%s", err, messages)
	}
}

// poison is a Fetcher that panics for one repository.
type poison struct{ next trainjobsource.Fetcher }

func (p poison) Fetch(ctx context.Context, r fetch.Request) (fetch.Result, error) {
	if strings.HasSuffix(r.URL, "/poison") {
		panic("a mistake in the program") //nolint:forbidigo // the test needs a panic
	}
	return p.next.Fetch(ctx, r)
}

// TestPanicDoesNotStopOthers checks that a TrainJobSource whose round panics does not stop another TrainJobSource.
func TestPanicDoesNotStopOthers(t *testing.T) {
	l := newLive(t)
	l.push("bert", "numNodes: 2")
	fetcher, err := fetch.New(fetch.Options{Network: l.options().Network})
	if err != nil {
		t.Fatal(err)
	}
	cluster, _ := l.connection()
	mgr, err := ctrl.NewManager(cluster, ctrl.Options{
		Scheme: l.cp.Client().Scheme(), Metrics: server.Options{BindAddress: "0"}, Cache: cache.Options{}, Logger: l.options().Log,
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	if err != nil {
		t.Fatal(err)
	}
	c := trainjobsource.New(mgr, poison{fetcher}, trainjobsource.NewMetrics(time.Now))
	if err := c.Setup(mgr, 1); err != nil {
		t.Fatal(err)
	}
	bad := l.newSource("a-poison")
	bad.Spec.URL = "https://git.example.com/poison"
	if err := l.cp.Client().Create(t.Context(), bad); err != nil {
		t.Fatal(err)
	}
	l.background(mgr.Start)
	time.Sleep(2 * time.Second) // the worker handles the first TrainJobSource several times
	l.create()
	l.waitRuns("another TrainJobSource", "bert/1 nodes=2")
}
