//go:build linux

package preflight

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/trainyard/trainyard/test/podrunner"
)

// verdictLimit is the maximum length of a verdict in bytes. Preflight writes its verdict as a termination message.
// The kubelet truncates termination messages to 4096 bytes for each container, and to 12 kB for each pod.
const verdictLimit = 2500

// clockStep is the resolution of /proc/uptime, which preflight reads to measure times. A measured time can be longer
// than the real time, but always by less than clockStep.
const clockStep = 10 * time.Millisecond

// verdict is the result that preflight writes as its termination message, in JSON.
type verdict struct {
	Hosts     int       `json:"hosts"`
	Reached   int       `json:"reached"`
	Slots     int       `json:"slots"`
	Available int       `json:"available"`
	MS        []*int    `json:"ms"`
	Failed    []failure `json:"failed"`
}

type failure struct {
	Host   string `json:"host"`
	Cause  string `json:"cause"`
	Detail string `json:"detail"`
}

// read decodes a verdict, and checks conditions that every verdict must meet.
func read(t testing.TB, result podrunner.Result) verdict {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(result.Message))
	decoder.DisallowUnknownFields()
	var v verdict
	if err := decoder.Decode(&v); err != nil {
		t.Fatalf("reading the verdict %q: %v\n%s", result.Message, err, result.Log)
	}
	if len(result.Message) > verdictLimit {
		t.Errorf("the verdict has %d bytes, want at most %d:\n%s", len(result.Message), verdictLimit, result.Message)
	}
	if want := map[bool]int{true: 0, false: 1}[v.Reached == v.Hosts]; result.Code != want {
		t.Errorf("preflight reached %d of %d hosts and ended with code %d, want %d:\n%s", v.Reached, v.Hosts, result.Code, want, result.Log)
	}
	limit := result.Took + clockStep
	for i, ms := range v.MS {
		if ms != nil && (*ms < 0 || *ms > int(limit.Milliseconds())) {
			t.Errorf("host %d has time %d ms, want at most %s, the duration of preflight and one clock step", i, *ms, limit)
		}
	}
	return v
}

// removeTimes removes the times of all hosts from the verdict. Each value of the result belongs to one host. The value
// is true if the verdict contained a time for this host.
func (v *verdict) removeTimes() []bool {
	timed := make([]bool, len(v.MS))
	for i, ms := range v.MS {
		timed[i] = ms != nil
	}
	v.MS = nil
	return timed
}
