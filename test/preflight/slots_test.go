//go:build linux

package preflight

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestPreflightCountsSlots runs jobs with one launcher and one node. On the node, preflight runs a command that prints
// the number of available slots. For the launcher, preflight assumes that all slots are available. The reason is that
// preflight runs in an init container of the launcher. The main container can have other limits than the init
// container, so preflight cannot count the slots of the main container.
func TestPreflightCountsSlots(t *testing.T) {
	t.Parallel()
	garbage := `printf 'a"b\\c\n\033[31m\t$(reboot) '; head -c 10000 /dev/zero | tr '\0' '"'`
	cases := map[string]struct {
		command       string
		slots         int
		oversubscribe string
		available     int    // available slots on the node
		failure       string // failure of the node, if any
	}{
		"enough":                                          {command: "echo 4", slots: 4, available: 4},
		"too few":                                         {command: "nproc", slots: 4096, failure: " available for 4096 slots"},
		"too few, with oversubscription":                  {command: "echo 2", slots: 4096, oversubscribe: "true", available: 2},
		"none":                                            {command: "echo 0", slots: 1, failure: "0 available for 1 slots"},
		"a number among warnings":                         {command: "echo careful >&2; echo 4; echo careful >&2", slots: 4, available: 4},
		"the command fails":                               {command: "echo 4; exit 3", slots: 1, failure: "status 3, printed: 4"},
		"the command does not exist":                      {command: "count-gpus", slots: 1, failure: ": not found"},
		"the command prints nothing":                      {command: "true", slots: 1, failure: "status 0, printed:"},
		"the command prints text":                         {command: "echo many", slots: 1, failure: "status 0, printed: many"},
		"the command prints a negative number":            {command: "echo -1", slots: 1, failure: "status 0, printed: -1"},
		"the command prints an octal number":              {command: "echo 08", slots: 1, failure: "status 0, printed: 08"},
		"the command prints a huge number":                {command: "echo 99999999999999999999", slots: 1, failure: "status 0, printed: 9999"},
		"the command prints control characters":           {command: garbage, slots: 1, failure: "status 0, printed: ab"},
		"the command prints control characters and fails": {command: garbage + "; exit 1", slots: 1, failure: "status 1, printed: ab"},
		"the command never ends":                          {command: "sleep 60", slots: 1, failure: "no answer within 10 s"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJob(t, 1, testPlatform{})
			j.slots = tc.slots
			j.startNodes(j.nodes...)
			timeout := "50" // preflight must end long before this timeout
			if strings.HasPrefix(tc.failure, "no answer") {
				timeout = "1"
			}
			result := j.runPreflight(map[string]string{
				"PREFLIGHT_SLOTS_COMMAND":   tc.command,
				"PREFLIGHT_OVERSUBSCRIBE":   tc.oversubscribe,
				"PREFLIGHT_TIMEOUT_SECONDS": timeout,
			}).Wait()
			if result.Took > 20*time.Second {
				t.Errorf("preflight took %s, want at most 20s:\n%s", result.Took, result.Log)
			}
			got := read(t, result)
			want := verdict{Hosts: 2, Reached: 1, Slots: 2 * tc.slots, Available: tc.slots, Failed: []failure{}}
			if tc.failure == "" {
				want.Reached, want.Available = 2, tc.slots+tc.available
			}
			failed := got.Failed
			got.MS, got.Failed = nil, []failure{}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("verdict: -want +got:\n%s", diff)
			}
			checkFailures(t, failed, 2-want.Reached, tc.failure)
		})
	}
}

// TestSlotConfigurationMismatch checks a job whose hostfile gives each host 4 slots, while each node has only 2 GPUs.
// Preflight must fail before training starts, and report the number of slots and the number of GPUs.
func TestSlotConfigurationMismatch(t *testing.T) {
	t.Parallel()
	j := newJob(t, 1, testPlatform{})
	j.slots = 4
	j.startNodes(j.nodes...)
	got := read(t, j.runPreflight(map[string]string{"PREFLIGHT_SLOTS_COMMAND": "echo 2"}).Wait())
	if got.Reached != 1 || got.Slots != 8 {
		t.Errorf("reached %d hosts for %d slots, want the launcher only, for 8 slots", got.Reached, got.Slots)
	}
	checkFailures(t, got.Failed, 1, "2 available for 4 slots")
}

func checkFailures(t *testing.T, failed []failure, number int, reason string) {
	t.Helper()
	if len(failed) != number {
		t.Errorf("got failures %+v, want %d", failed, number)
	}
	cause := "slots"
	if strings.HasPrefix(reason, "no answer") {
		cause = "timeout"
	}
	for _, f := range failed {
		if f.Cause != cause || !strings.Contains(f.Detail, reason) {
			t.Errorf("got %+v, want cause %s and detail %q", f, cause, reason)
		}
	}
}
