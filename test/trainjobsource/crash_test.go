package trainjobsource

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/controller"
	"github.com/trainyard/trainyard/controller/trainjobsource"
	"github.com/trainyard/trainyard/controller/trainjobsource/fetch"
	"github.com/trainyard/trainyard/controller/trainjobsource/plan"
	"github.com/trainyard/trainyard/controller/trainjobsource/record"
	"github.com/trainyard/trainyard/controller/trainjobsource/trainjobs"
	"github.com/trainyard/trainyard/test/repo"
)

func sorted(values []string) []string { return slices.Sorted(slices.Values(values)) }

var program = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "trainyard-controller-")
	if err != nil {
		return "", err
	}
	removeProgram = func() { _ = os.RemoveAll(folder) }
	file := filepath.Join(folder, "trainyard-controller")
	return file, repo.Compile("trainyard-controller", file)
})

// removeProgram removes the compiled program. TestMain calls removeProgram after all tests.
var removeProgram = func() {}

// start starts the program trainyard-controller. By default, the program uses no leader election. The argument "more"
// contains additional flags.
func (l *live) start(kubeconfig string, more ...string) (*exec.Cmd, *bytes.Buffer) {
	l.t.Helper()
	file, err := program()
	if err != nil {
		l.t.Fatal(err)
	}
	host := strings.TrimSuffix(strings.TrimPrefix(l.server.HTTP(""), "http://"), "/")
	var messages bytes.Buffer
	flags := []string{"--controllers", controller.TrainJobSources, "--kubeconfig", kubeconfig, "--metrics-address=", "--health-address=", "--webhook-address=",
		"--leader-elect=false", "--allow-http", host, "--allow-address", "127.0.0.0/8", "--log-format", "json"}
	cmd := exec.Command(file, append(flags, more...)...)
	cmd.Stderr = &messages
	if err := cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	return cmd, &messages
}

// TestKilledController kills the program trainyard-controller 16 times at random moments while the program starts jobs,
// and four times after the program has applied a commit. After the kills, each version of each job must have exactly
// one run. The record, a ConfigMap in which the controller stores the runs, must also contain exactly one run for each
// version.
func TestKilledController(t *testing.T) {
	l := newLive(t)
	kubeconfig := l.kubeconfig()
	l.object.Spec.OnChange = v1alpha1.ChangeRunAlongside
	const versions, jobs, kills = 4, 5, 5
	random := rand.New(rand.NewPCG(5, 6))
	var want []string
	for version := range versions {
		commit := l.pushJobs(jobs, version+1)
		if version == 0 {
			l.create()
		}
		created := l.watchCreations(version + 1)
		for kill := range kills {
			cmd, _ := l.start(kubeconfig)
			if kill < kills-1 {
				waitForMoment(random, created)
			} else {
				l.waitApplied(commit) // the next version must not be pushed before
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // the error reports the signal
		}
		for job := range jobs {
			want = append(want, fmt.Sprintf("job-%d/%d nodes=%d", job, version+1, version+1))
		}
	}
	cmd, messages := l.start(kubeconfig)
	l.waitRecord()
	if diff := cmp.Diff(sorted(want), l.runs()); diff != "" {
		t.Errorf("runs: -want +got:\n%s", diff)
	}
	l.sync() // before, the program may not handle signals yet
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("after an interrupt, the program ends with %v\n%s", err, messages)
	}
}

func (l *live) pushJobs(jobs, nodes int) string {
	l.t.Helper()
	files := map[string]string{}
	for job := range jobs {
		name := fmt.Sprintf("job-%d", job)
		l.commit(name, fmt.Sprintf("numNodes: %d", nodes))
		files[name+".yaml"] = string(l.files[name+".yaml"].Data)
	}
	return l.pushFiles(files)
}

func (l *live) watchCreations(nodes int) <-chan struct{} {
	l.t.Helper()
	c, err := client.NewWithWatch(l.cp.Config(), client.Options{Scheme: l.cp.Client().Scheme()})
	if err != nil {
		l.t.Fatal(err)
	}
	events, err := c.Watch(l.t.Context(), &trainer.TrainJobList{}, client.InNamespace(tenants[0]))
	if err != nil {
		l.t.Fatal(err)
	}
	created := make(chan struct{}, 100)
	go func() {
		defer events.Stop()
		for event := range events.ResultChan() {
			if found, ok := event.Object.(*trainer.TrainJob); ok && event.Type == watch.Added && *found.Spec.Trainer.NumNodes == int32(nodes) {
				created <- struct{}{}
			}
		}
	}()
	return created
}

// waitForMoment returns at the moment at which the test must kill the program. The test calls waitForMoment after the
// start of the program. If no TrainJob was created since the last call, waitForMoment waits for the next creation, but
// at most one second. If a TrainJob was created since the last call, waitForMoment waits for a random time of less than
// a second. If the random time is short, the test may kill the program while the program starts. If the random time is
// longer, the test may kill the program while the program updates the record. The updated record confirms that certain
// TrainJobs were created.
func waitForMoment(random *rand.Rand, created <-chan struct{}) {
	if len(created) == 0 {
		select {
		case <-created:
			return
		case <-time.After(time.Second): // all TrainJobs exist
			return
		}
	}
	for len(created) > 0 {
		<-created
	}
	time.Sleep(time.Duration(random.IntN(800)) * time.Millisecond)
}

// waitRecord waits until the record of the TrainJobSource contains exactly the runs that exist in the cluster. The
// record (a ConfigMap) must also confirm that each of these runs was created.
func (l *live) waitRecord() {
	l.t.Helper()
	l.eventually(func(*v1alpha1.TrainJobSource) error {
		var stored corev1.ConfigMap
		key := client.ObjectKey{Namespace: v1alpha1.SystemNamespace, Name: "trainjobsource." + l.object.Namespace + "." + l.object.Name}
		if err := l.cp.Client().Get(l.t.Context(), key, &stored); err != nil {
			return err
		}
		histories, err := record.Decode(stored.Data)
		if err != nil {
			return err
		}
		recorded, live := map[string]plan.Version{}, map[string]plan.Version{}
		for _, history := range histories {
			for _, run := range history.Runs {
				if recorded[run.Name] = run.Version; !run.Created {
					return fmt.Errorf("the record does not confirm the run %s", run.Name)
				}
			}
		}
		for name, t := range l.list() {
			live[name] = trainjobs.Read(l.object.Name, &t).Version
		}
		if diff := cmp.Diff(live, recorded); diff != "" {
			return fmt.Errorf("the record differs from the cluster: -cluster +record:\n%s", diff)
		}
		return nil
	})
}

type poison struct{ next trainjobsource.Fetcher }

func (p poison) Fetch(ctx context.Context, r fetch.Request) (fetch.Result, error) {
	if strings.HasSuffix(r.URL, "/poison") {
		panic("a mistake in the program") //nolint:forbidigo // the test needs a panic
	}
	return p.next.Fetch(ctx, r)
}

// runController runs only the controller of TrainJobSources, with one worker.
func (l *live) runController(change func(*trainjobsource.Controller)) {
	l.t.Helper()
	fetcher, err := fetch.New(fetch.Options{Network: l.options().Network})
	if err != nil {
		l.t.Fatal(err)
	}
	cluster, _ := l.connection()
	mgr, err := ctrl.NewManager(cluster, ctrl.Options{
		Scheme: l.cp.Client().Scheme(), Metrics: server.Options{BindAddress: "0"}, Cache: cache.Options{}, Logger: l.options().Log,
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	if err != nil {
		l.t.Fatal(err)
	}
	c := trainjobsource.New(mgr, fetcher, trainjobsource.NewMetrics(time.Now))
	change(c)
	if err := c.Setup(mgr, 1); err != nil {
		l.t.Fatal(err)
	}
	l.background(mgr.Start)
}

func TestA14PanicDoesNotStopOthers(t *testing.T) {
	l := newLive(t)
	l.push("bert", "numNodes: 2")
	bad := l.newSource("a-poison")
	bad.Spec.URL = "https://git.example.com/poison"
	if err := l.cp.Client().Create(t.Context(), bad); err != nil {
		t.Fatal(err)
	}
	l.runController(func(c *trainjobsource.Controller) { c.Fetcher = poison{c.Fetcher} })
	time.Sleep(2 * time.Second) // the worker handles the first TrainJobSource several times
	l.create()
	l.waitRuns("another TrainJobSource", "bert/1 nodes=2")
}
