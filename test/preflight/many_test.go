//go:build linux

package preflight

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestPreflightReachesAHundredHosts(t *testing.T) {
	j := newJob(t, 99, testPlatform{})
	began := time.Now()
	j.startNodes(j.nodes...)
	t.Logf("99 nodes were ready after %s", time.Since(began))
	result := j.runPreflight(map[string]string{"PREFLIGHT_SLOTS_COMMAND": "echo 64"}).Wait()
	got := read(t, result)
	if available := 1 + 99*64; got.Reached != 100 || got.Slots != 100 || got.Available != available || len(got.MS) != 100 || len(got.Failed) != 0 {
		t.Errorf("got %+v, want 100 hosts, 100 slots, and %d available\n%s", got, available, result.Log)
	}
	t.Logf("preflight took %s, its verdict has %d bytes", result.Took, len(result.Message))
}

// TestVerdictLengthIsLimited checks the length of very long verdicts. Each verdict describes a job with 100 or 120
// hosts. Each verdict lists ten failures, which is the maximum. Each listed failure has a long host name and a long
// detail.
func TestVerdictLengthIsLimited(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ good, bad, timed int }{
		"no host responds":          {good: 1, bad: 99, timed: 1},
		"most hosts respond":        {good: 90, bad: 10, timed: 90},
		"more than a hundred hosts": {good: 110, bad: 10, timed: 100},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJob(t, 0, testPlatform{})
			j.slots = 10000
			for i := range tc.good - 1 {
				// The host's name begins with the launcher's name and a dot, so preflight treats the host as the
				// launcher, and does not connect to the host by SSH.
				j.addHost(fmt.Sprintf("sum-launcher-0-0.%d", i))
			}
			for i := range tc.bad {
				h := j.addHost(fmt.Sprintf("%0*d.sum", 63, i))
				listen(t, h, func(c net.Conn) { _, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")) })
			}
			result := j.runPreflight(map[string]string{"PREFLIGHT_TIMEOUT_SECONDS": "1", "PREFLIGHT_SLOTS_COMMAND": "echo 9999999"}).Wait()
			got := read(t, result)
			if got.Hosts != tc.good+tc.bad || got.Reached != tc.good || len(got.Failed) != 10 || len(got.MS) != min(100, got.Hosts) {
				t.Errorf("got verdict %+v\n%s", got, result.Log)
			}
			if want := strings.Repeat("0", 62); !strings.HasPrefix(got.Failed[0].Host, want) || len(got.Failed[0].Detail) < 40 {
				t.Errorf("got failure %+v, want a longer host name and detail", got.Failed[0])
			}
			if length := len(result.Message) + verdictGrowth(got); length > verdictLimit {
				t.Errorf("with 7-digit times, the verdict has %d bytes, want at most %d", length, verdictLimit)
			}
		})
	}
}

// verdictGrowth returns how many bytes longer a verdict would be if every host's time in the verdict had 7 digits. A
// time is the number of milliseconds until preflight reached the host. The number has 7 digits if preflight needed an
// hour.
func verdictGrowth(v verdict) int {
	sum := 0
	for _, ms := range v.MS {
		if ms != nil {
			sum += 7 - len(strconv.Itoa(*ms))
		}
	}
	return sum
}

// addHost adds a host without a pod.
func (j *job) addHost(name string) *host {
	h := &host{name: name, address: newAddress()}
	j.launcher.pod.AddHost(h.address, h.name)
	j.nodes = append(j.nodes, h)
	return h
}
