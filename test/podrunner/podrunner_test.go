//go:build linux

package podrunner_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainyard/trainyard/test/podrunner"
)

func TestMain(m *testing.M) { os.Exit(podrunner.Main(m)) }

func shellContainer(script string) corev1.Container {
	return corev1.Container{Name: "test", Command: []string{"sh", "-c", script}}
}

func TestContainerIsIsolated(t *testing.T) {
	t.Parallel()
	yes := true
	cases := map[string]struct {
		change func(*corev1.Container)
		script string
		want   string
	}{
		"has an arbitrary user":     {script: "id -u; id -g", want: fmt.Sprintf("%d\n%d\n", podrunner.UID, podrunner.GID)},
		"has a user without a name": {script: "getent passwd $(id -u) || echo nobody", want: "nobody\n"},
		"has no capabilities": {
			script: "grep -E '^(Cap|NoNewPrivs)' /proc/self/status | tr -d '\\t0\\n'",
			want:   "CapInh:CapPrm:CapEff:CapBnd:CapAmb:NoNewPrivs:1",
		},
		"is process 1 and sees its own processes only": {script: "echo $PPID; ls /proc | grep -c '^[0-9]'; true", want: "0\n3\n"},
		"has the host name of its pod":                 {script: "uname -n; echo $HOSTNAME", want: "pod-0\npod-0\n"},
		"has no terminal":                              {script: "(exec < /dev/tty) 2> /dev/null || echo none", want: "none\n"},
		"cannot change the machine's programs": {
			script: "(: > /usr/bin/env) 2> /dev/null || echo no; (: > /usr/new) 2> /dev/null || echo no",
			want:   "no\nno\n",
		},
		"cannot change the kernel":      {script: "(echo 1 > /proc/sys/kernel/panic) 2> /dev/null || echo no", want: "no\n"},
		"has devices":                   {script: "head -c 3 /dev/urandom | wc -c; echo x > /dev/null; echo y > /dev/stdout", want: "3\ny\n"},
		"resolves the pod's hosts only": {script: "getent hosts pod-1.job; getent hosts pod-2.job || echo unknown", want: "127.0.0.9       pod-1.job\nunknown\n"},
		"can write to its root":         {script: "echo x > /new; cat /new", want: "x\n"},
		"can write to volumes and its log, but not to a read-only root": {
			change: func(c *corev1.Container) {
				c.SecurityContext = &corev1.SecurityContext{ReadOnlyRootFilesystem: &yes}
			},
			script: "for f in /new /tmp/new /dev/new; do (: > $f) 2> /dev/null || echo no; done; : > /volume/new; : > /dev/termination-log",
			want:   "no\nno\nno\n",
		},
		"can mount a file of a volume over a file of the image": {
			change: func(c *corev1.Container) {
				c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "volume", MountPath: "/etc/passwd", SubPath: "file"})
			},
			script: "cat /etc/passwd", want: "content\n",
		},
		"has variables expanded before its shell runs": {
			change: func(c *corev1.Container) {
				c.Env = []corev1.EnvVar{{Name: "A", Value: "a b"}, {Name: "B", Value: "$(A)-$(C)-$$(A)"}}
			},
			script: `printf '%s\n' "$B" '$(A)' $$$$ '$$' '$(echo $$)'`, want: "a b-$(C)-$(A)\na b\n1\n$\n$(echo $$)\n",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pod := podrunner.NewPod(t, "pod-0", []corev1.Volume{{Name: "volume", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}})
			pod.AddHost("127.0.0.9", "pod-1.job")
			if err := os.WriteFile(pod.Volume("volume")+"/file", []byte("content\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			container := shellContainer(tc.script)
			container.VolumeMounts = []corev1.VolumeMount{{Name: "volume", MountPath: "/volume"}}
			if tc.change != nil {
				tc.change(&container)
			}
			result := pod.Run(container)
			if diff := cmp.Diff(tc.want, result.Log); diff != "" || result.Code != 0 {
				t.Errorf("exit code %d, log: -want +got:\n%s", result.Code, diff)
			}
		})
	}
}

func TestRunReturnsExitCodeLogAndMessage(t *testing.T) {
	t.Parallel()
	result := podrunner.NewPod(t, "pod-0", nil).Run(shellContainer("echo out; echo err >&2; printf why > /dev/termination-log; exit 3"))
	result.Took = 0
	if diff := cmp.Diff(podrunner.Result{Code: 3, Log: "out\nerr\n", Message: "why"}, result); diff != "" {
		t.Errorf("Run(): -want +got:\n%s", diff)
	}
}

func TestReplaceMountsOtherPrograms(t *testing.T) {
	t.Parallel()
	pod := podrunner.NewPod(t, "pod-0", nil)
	pod.Replace = map[string]string{"/usr/bin/dash": "/usr/bin/bash", "/usr/bin/nproc": "/dev/null"}
	if got, want := pod.Run(shellContainer("echo ${BASH:+bash}; command -v nproc || echo none")).Log, "bash\nnone\n"; got != want {
		t.Errorf("log is %q, want %q", got, want)
	}
}

func TestContainersIgnoreUnhandledSignals(t *testing.T) {
	t.Parallel()
	pod := podrunner.NewPod(t, "pod-0", nil)
	unhandled := pod.Start(shellContainer("echo ready; sleep 1; echo done"))
	handled := pod.Start(shellContainer("trap 'exit 7' TERM; echo ready; sleep 30 & wait"))
	for _, process := range []*podrunner.Process{unhandled, handled} {
		await(t, process, "ready")
		process.Signal(syscall.SIGTERM)
	}
	if got := unhandled.Wait(); got.Code != 0 || got.Log != "ready\ndone\n" {
		t.Errorf("container without a signal handler: got %+v, want exit code 0 and the complete log", got)
	}
	if got := handled.Wait(); got.Code != 7 || got.Took > 20*time.Second {
		t.Errorf("container with a signal handler: got %+v, want exit code 7 at once", got)
	}
}

func TestKillEndsAllProcessesOfAContainer(t *testing.T) {
	t.Parallel()
	process := startSleeper(t, "1234567")
	process.Kill()
	if result := process.Wait(); result.Code != 128+int(syscall.SIGKILL) {
		t.Errorf("exit code %d, want that of SIGKILL", result.Code)
	}
	if found := runningCommands(t, "1234567"); len(found) > 0 {
		t.Errorf("processes after Kill(): %q, want none", found)
	}
}

func TestNoProcessSurvivesAPanic(t *testing.T) {
	t.Parallel()
	if os.Getenv("PODRUNNER_TEST_PANIC") != "" {
		startSleeper(t, "7654321")
		panic("on purpose") //nolint:forbidigo // the test looks for processes that survive a panic
	}
	self := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^TestNoProcessSurvivesAPanic$")
	self.Env = append(os.Environ(), "PODRUNNER_TEST_PANIC=yes")
	output, err := self.CombinedOutput()
	if err == nil || !strings.Contains(string(output), "on purpose") {
		t.Fatalf("the test did not panic: %v\n%s", err, output)
	}
	if found := runningCommands(t, "7654321"); len(found) > 0 {
		t.Errorf("processes after a panic: %q, want none", found)
	}
}

// startSleeper starts a container that runs the command "sleep" in a new session, for the given number of seconds.
func startSleeper(t *testing.T, seconds string) *podrunner.Process {
	t.Helper()
	process := podrunner.NewPod(t, "pod-0", nil).Start(shellContainer("setsid sleep " + seconds + " & echo ready; wait"))
	await(t, process, "ready")
	return process
}

func runningCommands(t *testing.T, word string) []string {
	t.Helper()
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, path := range commands {
		if command, _ := os.ReadFile(path); strings.Contains(string(command), word) {
			found = append(found, string(command))
		}
	}
	return found
}

func TestPodsAndTestsShareANetwork(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.1.2.3:2222")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	go func() {
		if connection, err := listener.Accept(); err == nil {
			_, _ = connection.Write([]byte("hello"))
			_ = connection.Close()
		}
	}()
	pod := podrunner.NewPod(t, "pod-0", nil)
	container := shellContainer("")
	container.Command = []string{"bash", "-c", "cat < /dev/tcp/127.1.2.3/2222"}
	if got := pod.Run(container).Log; got != "hello" {
		t.Errorf("the container read %q, want hello", got)
	}
}

func await(t *testing.T, process *podrunner.Process, word string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !strings.Contains(process.Log(), word); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("timeout waiting for %q in the log %q", word, process.Log())
		}
	}
}
