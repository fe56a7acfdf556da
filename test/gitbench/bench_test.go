package gitbench

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/trainyard/trainyard/test/controlplane"
)

func TestMain(m *testing.M) { os.Exit(controlplane.Main(m)) }

const (
	applyTimeout = 30 * time.Minute // the longest time until all TrainJobs of a workload are applied
	settleTime   = time.Minute      // the time after which the programs have nothing left to do
	steadyTime   = applyInterval    // the time in which the steady state is measured
	pushCount    = 10               // the number of measured pushes
)

type result struct {
	system, workload string
	applyUsage       usage           // until all TrainJobs existed
	applyTime        time.Duration   // until all TrainJobs existed
	steady           usage           // in steadyTime without changes in Git
	pushes           []time.Duration // from a push to the new TrainJob; empty if not measured
	peak             float64         // the highest resident memory in bytes
}

// BenchmarkTrainJobsFromGit measures trainyard-controller with the workloads "typical" and "large", and measures Flux
// with the workload "typical". The benchmark creates Git repositories with TrainJobs, tells trainyard-controller or
// Flux to apply the repositories, and waits until all TrainJobs exist. The benchmark then measures the steady state, in
// which nothing changes in Git. At the end of the workload "typical", the benchmark pushes further TrainJobs, and
// measures the time until they exist. After each push, the benchmark requests a fetch, as a webhook does. If
// GITBENCH_DOCS names a Markdown file, the benchmark replaces the results in this file.
func BenchmarkTrainJobsFromGit(b *testing.B) {
	c := newCluster(b)
	c.installFluxCRDs(b)
	var results []result
	for _, s := range systems {
		results = append(results, c.measure(b, s, typical))
	}
	results = append(results, c.measure(b, systems[0], large))
	text := markdown(results)
	fmt.Fprint(os.Stderr, text)
	if docs := os.Getenv("GITBENCH_DOCS"); docs != "" {
		if err := updateDocs(docs, "Git", text); err != nil {
			b.Fatal(err)
		}
	}
}

// measure runs the workload w with the system s (trainyard-controller or Flux), and returns the measured values. At the
// end, the method deletes the objects that the system has created, and the objects that "declare" has created.
func (c *cluster) measure(t testing.TB, s system, w workload) result {
	t.Helper()
	progress("%s: creating %d repositories for %s", w.name, w.countRepositories(), s.name)
	repositories := w.create(t, c.server, s.name)
	programs := s.start(t, c)
	defer stop(t, programs)
	r := result{system: s.name, workload: w.name}

	progress("%s: applying %d TrainJobs with %s", w.name, w.countJobs(), s.name)
	before, began := readUsage(t, programs), time.Now()
	c.declare(t, s, repositories)
	c.awaitTrainJobs(t, w.countJobs(), applyTimeout)
	r.applyTime = time.Since(began)
	r.applyUsage = readUsage(t, programs).since(before)

	progress("%s: measuring the steady state of %s", w.name, s.name)
	time.Sleep(settleTime)
	before = readUsage(t, programs)
	time.Sleep(steadyTime)
	r.steady = readUsage(t, programs).since(before)
	if w.name == typical.name {
		r.pushes = c.measurePushes(t, s, repositories)
	}
	r.peak = readUsage(t, programs).peak
	stop(t, programs)
	c.clear(t, s, repositories)
	return r
}

// declare creates the objects that tell a system to apply the repositories. The argument s is this system:
// trainyard-controller or Flux.
func (c *cluster) declare(t testing.TB, s system, repositories []repository) {
	t.Helper()
	for _, r := range repositories {
		for _, object := range s.declare(r) {
			if err := c.client.Create(t.Context(), object); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// measurePushes returns, for each push, the time from the end of the push until the TrainJob exists.
func (c *cluster) measurePushes(t testing.TB, s system, repositories []repository) []time.Duration {
	t.Helper()
	var times []time.Duration
	for i, r := range repositories[:pushCount] {
		name := "pushed"
		r.push(t, map[string]string{name + ".yaml": trainJob(name)})
		began := time.Now()
		s.requestFetch(t, c, r, i)
		c.awaitTrainJob(t, r.namespace, name)
		times = append(times, time.Since(began))
	}
	return times
}

func stop(t testing.TB, programs []*program) {
	t.Helper()
	for _, p := range programs {
		if p.Ended() {
			continue
		}
		if err := p.Stop(); err != nil {
			t.Fatal(err)
		}
	}
}

func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s  %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}
