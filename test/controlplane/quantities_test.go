package controlplane_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/kubernetes"

	"github.com/trainyard/trainyard/policies/cases"
	"github.com/trainyard/trainyard/policies/guard"
	"github.com/trainyard/trainyard/policies/offline"
	"github.com/trainyard/trainyard/test/controlplane"
	"github.com/trainyard/trainyard/test/guardtest"
)

// cheapSpellings are quantities that the policy admits in a TrainJob. costlySpellings are values that the policy
// refuses.
var (
	cheapSpellings = []string{
		"1", "4", "0.5", "1.5", "500m", "1e1", "1E1", "1e+1", "10e-1", "4.", ".5", "+4", "1k", "1Ki", "2n", "2000u", "00004", "0.000000001", "1.000000001",
		"1e99", "999999999999999", "1E", "1Ei", "1Pi", "1T", "1e00",
	}
	costlySpellings = []string{
		"1e9999999", "1E9999999", "1e+9999999", "1e-9999999", "10000000000000000000000e999999", "0e9999999", "0e999", "0.0e999", "-1e9999999", "+1e9999999", "1e100", "1e-100",
		"1.5e9999999", ".5e9999999", "1.e9999999", "5e0009999999", "1000000000000000", "0.0000000001", "1.0000000001",
		strings.Repeat("9", 100), strings.Repeat("9", 100000), "0." + strings.Repeat("0", 100) + "1", "1" + strings.Repeat("0", 5000) + "e999999", "0" + strings.Repeat("0", 20),
		"-1", "-0.5", "-1Gi", "-0", "1e1.5", "1e.5", "9999999999999999999999Ei", "00000000000000001e5", "1e0000001", "1e9999999999", "0e0000",
	}
)

// hangingSpelling is a quantity that Trainer's defaulting webhook parses for too long, because of a bug. When the API
// server calls the webhook for a TrainJob with this quantity, the call times out. The API server then refuses the
// TrainJob before the admission policy receives the TrainJob.
const hangingSpelling = "1e999999999999"

// maxCPU is the maximum CPU time in seconds that the API server may need for one TrainJob.
const maxCPU = 0.2

// TestQuantitiesAreCheap submits TrainJobs with usual and unusual spellings of quantities. The API server, the package
// "offline" and the package "guard" must make the same decision about each TrainJob. Each TrainJob, except the one
// with hangingSpelling, must cost the API server less CPU time than maxCPU. The test runs with the default version of
// Trainer only, because the policy is the same for all versions.
func TestQuantitiesAreCheap(t *testing.T) {
	if n := len(cheapSpellings) + len(costlySpellings); n < 60 {
		t.Fatalf("%d spellings, want at least 60", n)
	}
	v := testedVersions[0]
	cp := v.start(t)
	var objects []map[string]any
	for _, obj := range applyPolicies(t, cp, v) {
		objects = append(objects, readFields(t, obj))
	}
	policies, err := offline.Compile(objects)
	if err != nil {
		t.Fatal(err)
	}
	for _, spelling := range slices.Concat(cheapSpellings, costlySpellings, []string{hangingSpelling}) {
		c := cases.Case{Name: spelling, Tenant: "team-vision", TrainJob: trainJob("quantity", "team-vision", "mpi-openmpi-cpu")}.Completed()
		amounts := map[string]any{"cpu": spelling, "memory": "1Gi"}
		c.TrainJob["spec"].(map[string]any)["trainer"] = map[string]any{"resourcesPerNode": map[string]any{"limits": amounts, "requests": amounts}}
		var refused error
		if spelling == hangingSpelling {
			_, refused = submit(t, cp, c)
			expectTimeout(t, refused)
		} else {
			refused = expectCheap(t, cp, c)
		}
		outcome, err := policies.Run(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		parameters, reader, err := guard.FindParameters(objects, c.Tenant)
		if err != nil {
			t.Fatal(err)
		}
		want := []string(nil)
		if spelling == hangingSpelling || slices.Contains(costlySpellings, spelling) {
			want = []string{string(guard.RuleInvalidQuantity)}
			if len(spelling) > 1<<16 { // the TrainJob contains this text twice, and is therefore too large
				want = []string{string(guard.RuleOversizedJob)}
			}
		} else if _, err := resource.ParseQuantity(spelling); err != nil {
			t.Errorf("%.40s: %v", spelling, err)
		}
		if rules := guardtest.Rules(t, reader, parameters, c); !slices.Equal(rules, want) || !slices.Equal(outcome.Rules, want) {
			t.Errorf("%.40s violates %v according to guard, and %v according to the offline evaluator, want %v", spelling, rules, outcome.Rules, want)
		}
		// Check only whether the API server refuses the TrainJob, and not which admission rule the error names. The
		// reason is that Trainer's defaulting webhook runs before the admission policy. This webhook refuses some texts
		// that are not valid quantities. The error of the webhook names no admission rule.
		if (want == nil) != (refused == nil) {
			t.Errorf("%.40s: the API server returns %v, want rules %v", spelling, refused, want)
		}
	}
}

// expectTimeout fails the test if Trainer's webhook no longer times out, for example because a new version of
// Trainer fixes the bug. After such a failure, move hangingSpelling into the list costlySpellings.
func expectTimeout(t *testing.T, err error) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), "context deadline exceeded") {
		t.Errorf("Trainer's webhook responds to %s now: %v", hangingSpelling, err)
	}
}

// expectCheap submits the TrainJob of a case up to ten times, until a submission costs less CPU
// time than maxCPU. If all ten submissions cost more, the test fails. One measurement is not
// enough, because the API server also does other work.
func expectCheap(t *testing.T, cp *controlplane.ControlPlane, c cases.Case) (refused error) {
	t.Helper()
	var attempts []float64
	for range 10 {
		attempts = append(attempts, measureCPU(t, cp, func() { _, refused = submit(t, cp, c) }))
		if slices.Min(attempts) < maxCPU {
			return refused
		}
		time.Sleep(300 * time.Millisecond)
	}
	t.Errorf("%.40s costs the API server %v s of CPU time, want less than %v", c.Name, attempts, maxCPU)
	return refused
}

// measureCPU returns the CPU time in seconds that the API server uses while a function runs.
func measureCPU(t *testing.T, cp *controlplane.ControlPlane, run func()) float64 {
	t.Helper()
	start := cpuSeconds(t, cp)
	middle := cpuSeconds(t, cp) // reading the metrics takes the CPU time middle-start, which does not count
	run()
	return cpuSeconds(t, cp) - middle - (middle - start)
}

func cpuSeconds(t *testing.T, cp *controlplane.ControlPlane) float64 {
	t.Helper()
	for line := range strings.Lines(readMetrics(t, cp)) {
		if value, found := strings.CutPrefix(line, "process_cpu_seconds_total "); found {
			seconds, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				t.Fatal(err)
			}
			return seconds
		}
	}
	t.Fatal("the API server reports no CPU time")
	return 0
}

func readMetrics(t *testing.T, cp *controlplane.ControlPlane) string {
	t.Helper()
	clientset, err := kubernetes.NewForConfig(cp.Config())
	if err != nil {
		t.Fatal(err)
	}
	text, err := clientset.RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
