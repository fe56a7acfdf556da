package gitbench

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/trainyard/trainyard/test/process"
	"github.com/trainyard/trainyard/test/upstream"
)

const startTimeout = time.Minute

type program struct {
	*process.Child
	pid     int
	metrics string // the URL of its metrics
}

func start(t testing.TB, cmd *exec.Cmd, metrics, health string) *program {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), filepath.Base(cmd.Path)+".log"))
	if err != nil {
		t.Fatal(err)
	}
	child, err := process.Run(cmd, log)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	if err := process.WaitFor(ctx, child, upstream.OK("http://"+health+"/readyz")); err != nil {
		t.Fatal(err)
	}
	return &program{child, cmd.Process.Pid, "http://" + metrics + "/metrics"}
}

// usage contains the CPU time and the requests of programs since their start, and the memory of the
// programs.
type usage struct {
	cpu      float64 // user and system time in seconds
	requests float64 // requests to the API server
	writes   float64 // requests to the API server that change objects
	memory   float64 // resident memory in bytes
	peak     float64 // the highest resident memory in bytes
}

// since subtracts an earlier measurement from the measurement u. In the result, the CPU time and the numbers of
// requests are the values in u minus the values in "earlier". Memory values are not subtracted: the memory values in
// the result are the values in u.
func (u usage) since(earlier usage) usage {
	u.cpu -= earlier.cpu
	u.requests -= earlier.requests
	u.writes -= earlier.writes
	return u
}

func readUsage(t testing.TB, programs []*program) usage {
	t.Helper()
	var sum usage
	for _, p := range programs {
		if p.Ended() {
			t.Fatalf("%s%s", p, process.Tail(p.LogPath()))
		}
		values := p.readMetrics(t)
		sum.cpu += values["process_cpu_seconds_total"]
		sum.memory += values["process_resident_memory_bytes"]
		sum.requests += values["rest_client_requests_total"]
		sum.writes += values["rest_client_requests_total"] - values["rest_client_requests_total GET"]
		sum.peak += p.readPeak(t)
	}
	return sum
}

// readMetrics returns one value for each metric: the sum of its series. For a metric with the label "method",
// readMetrics also returns the sum for each HTTP method. For example, "rest_client_requests_total GET" is the number of
// GET requests to the API server.
func (p *program) readMetrics(t testing.TB) map[string]float64 {
	t.Helper()
	response, err := http.Get(p.metrics)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(response.Body)
	if err != nil {
		t.Fatalf("%s: %v", p.metrics, err)
	}
	values := map[string]float64{}
	for name, family := range families {
		for _, m := range family.Metric {
			value := m.GetCounter().GetValue() + m.GetGauge().GetValue()
			values[name] += value
			for _, label := range m.Label {
				if label.GetName() == "method" {
					values[name+" "+label.GetValue()] += value
				}
			}
		}
	}
	return values
}

// readPeak returns the highest resident memory of the program, in bytes.
func (p *program) readPeak(t testing.TB) float64 {
	t.Helper()
	file, err := os.Open(fmt.Sprintf("/proc/%d/status", p.pid))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var kilobytes float64
		if rest, found := strings.CutPrefix(lines.Text(), "VmHWM:"); found {
			if _, err := fmt.Sscanf(rest, "%f kB", &kilobytes); err != nil {
				t.Fatal(err)
			}
			return kilobytes * 1024
		}
	}
	t.Fatalf("%s has no line VmHWM", file.Name())
	return 0
}
