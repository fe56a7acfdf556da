//go:build linux

package preflight

import (
	stdcmp "cmp"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainyard/trainyard/test/podrunner"
)

// hostileText is text that could corrupt a JSON string or a terminal, or make a verdict too long.
var hostileText = "a\"b\\c\r\n\x1b[31m\t$(reboot); `date` \"," + strings.Repeat(`"`, 5000) + strings.Repeat("é", 5000)

// soonLimit is the maximum duration of an operation that must end without waiting for a long timeout. The limit leaves
// enough time for a busy machine.
const soonLimit = 30 * time.Second

// TestPreflightReportsWhyAHostIsUnreachable makes only the second of two nodes unreachable.
func TestPreflightReportsWhyAHostIsUnreachable(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		breakHost func(*job, *host)
		timeout   string // the timeout of preflight in seconds; 2 by default
		want      failure
	}{
		"nothing listens": {
			breakHost: func(*job, *host) {},
			want:      failure{Cause: "refused", Detail: "port 2222: Connection refused"},
		},
		"the node has the keys of another job": {
			breakHost: func(j *job, h *host) {
				write(j.t, filepath.Join(h.pod.Volume("mpi-ssh-auth"), "authorized_keys"), podrunner.SSHKeys(j.t)["authorized_keys"])
				j.startNodes(h)
			},
			timeout: "50", // preflight must end long before this timeout
			want:    failure{Cause: "denied", Detail: "Permission denied (publickey)."},
		},
		"the node refuses the user, after a banner": {
			breakHost: func(j *job, h *host) {
				write(j.t, filepath.Join(h.pod.Volume("tmp"), "banner"), hostileText)
				h.options = []string{"Banner=/tmp/banner", "DenyUsers=mpi"}
				j.startNodes(h)
			},
			timeout: "50", // preflight must end long before this timeout
			want:    failure{Cause: "denied", Detail: "Permission denied (publickey)."},
		},
		"the node runs something else": {
			breakHost: func(j *job, h *host) {
				write(j.t, filepath.Join(h.pod.Volume("tmp"), "hostile"), hostileText)
				h.options = []string{"ForceCommand=cat /tmp/hostile >&2; exit 255"}
				j.startNodes(h)
			},
			want: failure{Cause: "other", Detail: "31m(reboot); date"},
		},
		"there is no route": {
			breakHost: func(j *job, h *host) {
				h.name = "sum-node-0-1.far"
				j.launcher.pod.AddHost("10.0.0.1", h.name)
			},
			want: failure{Cause: "unreachable", Detail: "port 2222: Network is unreachable"},
		},
		"the name does not resolve": {
			breakHost: func(_ *job, h *host) { h.name = "sum-node-0-1.gone" },
			want:      failure{Cause: "unresolvable", Detail: "no such host name"},
		},
		"the host accepts connections and sends nothing": {
			breakHost: func(j *job, h *host) { listen(j.t, h, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }) },
			want:      failure{Cause: "timeout", Detail: "Connection timed out during banner exchange"},
		},
		"the host closes connections": {
			breakHost: func(j *job, h *host) { listen(j.t, h, func(net.Conn) {}) },
			want:      failure{Cause: "closed", Detail: "kex_exchange_identification: "},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJob(t, 2, testPlatform{})
			j.startNodes(j.nodes[0])
			tc.breakHost(j, j.nodes[1])
			result := j.runPreflight(map[string]string{
				"PREFLIGHT_TIMEOUT_SECONDS": stdcmp.Or(tc.timeout, "2"),
				"PREFLIGHT_SLOTS_COMMAND":   "echo 1",
			}).Wait()
			got := read(t, result)
			if diff := cmp.Diff([]bool{true, true, false}, got.removeTimes()); diff != "" {
				t.Errorf("times: -want +got:\n%s", diff)
			}
			tc.want.Host = "sum-node-0-1"
			for i, f := range got.Failed {
				if strings.HasPrefix(f.Detail, tc.want.Detail) {
					got.Failed[i].Detail = tc.want.Detail // the rest of the detail depends on ssh and on timing
				}
			}
			want := verdict{Hosts: 3, Reached: 2, Slots: 3, Available: 2, Failed: []failure{tc.want}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("verdict: -want +got:\n%s\n%s", diff, result.Log)
			}
			if result.Took > soonLimit {
				t.Errorf("preflight took %s, want less:\n%s", result.Took, result.Log)
			}
		})
	}
}

func listen(t testing.TB, h *host, serve func(net.Conn)) {
	t.Helper()
	listener, err := net.Listen("tcp", h.address+":2222")
	if err != nil {
		t.Fatalf("listening as %s: %v", h.name, err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				serve(connection)
				_ = connection.Close()
			}()
		}
	}()
}

func TestPreflightBacksOff(t *testing.T) {
	t.Parallel()
	j := newJob(t, 0, testPlatform{})
	var attempts atomic.Int64
	listen(t, j.addHost("sum-node-0-0.sum"), func(net.Conn) { attempts.Add(1) })
	read(t, j.runPreflight(map[string]string{"PREFLIGHT_TIMEOUT_SECONDS": "6", "PREFLIGHT_SLOTS_COMMAND": "echo 1"}).Wait())
	if n := attempts.Load(); n < 5 || n > 9 {
		t.Errorf("got %d attempts to connect in 6 s, want 5 to 9", n)
	}
}

func TestPreflightReportsAMissingPasswdEntry(t *testing.T) {
	t.Parallel()
	j := newJob(t, 1, testPlatform{})
	j.startNodes(j.nodes...)
	init := j.pods["launcher"].InitContainers
	for i := range init {
		init[i].VolumeMounts = slices.DeleteFunc(init[i].VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == "/etc/passwd" })
	}
	got := read(t, j.runPreflight(map[string]string{"PREFLIGHT_TIMEOUT_SECONDS": "1"}).Wait())
	got.MS = nil
	want := []failure{{Host: "sum-node-0-0", Cause: "identity", Detail: fmt.Sprintf("No user exists for uid %d", podrunner.UID)}}
	if diff := cmp.Diff(want, got.Failed); diff != "" {
		t.Errorf("failures: -want +got:\n%s", diff)
	}
}
