//go:build linux

package preflight

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/trainyard/trainyard/test/jail"
)

// limit is how long a verdict may be, in bytes. The kubelet cuts at 4096, and at 12 kB per pod.
const limit = 2500

// verdict is what preflight leaves in its termination message.
type verdict struct {
	Hosts     int       `json:"hosts"`
	Reached   int       `json:"reached"`
	Slots     int       `json:"slots"`
	Available int       `json:"available"`
	MS        []*int    `json:"ms"`
	Failed    []failure `json:"failed"`
}

// failure says why a host was not reached.
type failure struct {
	Host   string `json:"host"`
	Cause  string `json:"cause"`
	Detail string `json:"detail"`
}

// read reads the verdict of a preflight that ended, and checks what holds for every one.
func read(t testing.TB, result jail.Result) verdict {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(result.Message))
	decoder.DisallowUnknownFields()
	var v verdict
	if err := decoder.Decode(&v); err != nil {
		t.Fatalf("reading the verdict %q: %v\n%s", result.Message, err, result.Log)
	}
	if len(result.Message) > limit {
		t.Errorf("the verdict has %d bytes:\n%s", len(result.Message), result.Message)
	}
	if want := map[bool]int{true: 0, false: 1}[v.Reached == v.Hosts]; result.Code != want {
		t.Errorf("preflight reached %d of %d and ended with %d:\n%s", v.Reached, v.Hosts, result.Code, result.Log)
	}
	for i, ms := range v.MS {
		if ms != nil && (*ms < 0 || *ms > int(result.Took.Milliseconds())) {
			t.Errorf("host %d: %d ms, but preflight took %s", i, *ms, result.Took)
		}
	}
	return v
}

// timed says of which hosts the verdict has a time, and forgets the times.
func (v *verdict) timed() []bool {
	timed := make([]bool, len(v.MS))
	for i, ms := range v.MS {
		timed[i] = ms != nil
	}
	v.MS = nil
	return timed
}
