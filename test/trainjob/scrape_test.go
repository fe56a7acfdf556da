package trainjob

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/trainyard/trainyard/api/jobs"
	"github.com/trainyard/trainyard/controller"
	"github.com/trainyard/trainyard/test/controlplane"
	"github.com/trainyard/trainyard/test/grafanadata"
	"github.com/trainyard/trainyard/test/prometheus"
)

// TestPrometheusScrapesTheController lets a real Prometheus scrape the controller and evaluate the generated rules. The
// test creates one waiting, one running and one failed TrainJob. The results of the recording rules must describe these
// TrainJobs, and an alert about the waiting TrainJob must be pending.
func TestPrometheusScrapesTheController(t *testing.T) {
	g, err := grafanadata.Read("runbooks")
	if err != nil {
		t.Fatal(err)
	}
	address := controlplane.FreeAddress(t)
	w := newWorld(t, func(o *controller.Options) { o.MetricsAddress = address })
	server, err := prometheus.Scrape(t.Context(), t.TempDir(), g, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	for _, name := range []string{"waiting", "running", "failed"} {
		w.submit(name)
		w.createPods(name)
		w.expect(name, jobs.GangScheduling, "")
	}
	w.scheduleOne("waiting-launcher-0-0-abcde")
	for _, name := range []string{"running", "failed"} {
		w.schedule(name)
		w.run(name)
		w.expect(name, jobs.Running, "")
	}
	w.end("failed", 1, "ValueError: batch size 0\n")
	w.expect("failed", jobs.Failed, "")
	w.deleteNodes("failed")
	of := fmt.Sprintf("namespace=%q", w.namespace)
	for expression, want := range map[string]string{
		`trainyard:trainjob_phase:info{NS, trainjob="waiting", phase="GangScheduling"}`:                                 "1",
		`trainyard:trainjob_phase:info{NS, trainjob="running", phase="Running"}`:                                        "1",
		`trainyard:trainjob_phase:info{NS, trainjob="failed", phase="Failed"}`:                                          "1",
		`trainyard:trainjob_gang_missing:max{NS, trainjob="waiting"}`:                                                   "2",
		`trainyard:trainjob_gang_missing:max{NS, trainjob="failed"}`:                                                    "0",
		`trainyard:trainjob_gang_pending:seconds{NS, trainjob="waiting"} > bool 1`:                                      "1",
		`trainyard:trainjob_gang_pending:seconds{NS, trainjob="running"}`:                                               "0",
		`time() - trainyard:trainjob_created:timestamp{NS, trainjob="running"} < bool 3600`:                             "1",
		`sum(increase(trainyard_trainjob_finished_total{exported_NS, outcome="failed"}[10m])) > bool 0`:                 "1",
		`ALERTS{alertname="TrainyardGangPartiallyPlaced", alertstate="pending", NS, trainjob="waiting"}`:                "1",
		`count(trainyard:controller_reconcile:rate5m{controller="trainyard_trainjob"})`:                                 "1",
		`count(trainyard_trainjob_info{exported_NS, runtime="mpi-openmpi-cpu", runtime_kind="ClusterTrainingRuntime"})`: "3",
	} {
		controlplane.Eventually(t, func(ctx context.Context) error {
			expression := strings.ReplaceAll(expression, "NS", of)
			found, err := server.QueryNow(ctx, expression)
			if err == nil && (len(found) != 1 || found[0].Value[1] != want) {
				err = fmt.Errorf("%s is %v, want %s", expression, found, want)
			}
			return err
		})
	}
}
