//go:build linux

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/trainyard/trainyard/api/jobs"
	"github.com/trainyard/trainyard/api/jobs/trial"
	"github.com/trainyard/trainyard/test/repo"
)

// runtimeTest runs `trainyard runtime test` with JSON output, as a pipeline does.
func (s *sandbox) runtimeTest(t *testing.T, args ...string) (trial.Result, int, string) {
	t.Helper()
	args = append([]string{"runtime", "test", "-o", "json", "--kubeconfig", s.kubeconfig}, args...)
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), s.trainyard, args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	code := 0
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	var result trial.Result
	if err := json.Unmarshal(out, &result); err != nil {
		t.Fatalf("%v: %s%s", err, out, &stderr)
	}
	t.Logf("%s", &stderr)
	return result, code, stderr.String()
}

func TestRuntimeTestPassesWorkingRuntimes(t *testing.T) {
	t.Parallel()
	s := useCluster(t)
	for name, args := range map[string][]string{
		"Open MPI 4":                          {"openmpi"},
		"Open MPI 5":                          {"openmpi5"},
		"Open MPI 5 with a separate launcher": {"openmpi5-separate"},
		"MPICH":                               {"mpich"},
		"MPICH on a strict platform":          {"mpich-strict"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			namespace := s.makeNamespace(t)
			result, code, stderr := s.runtimeTest(t, append(args, "--namespace", namespace)...)
			if code != 0 || !result.Passed {
				t.Errorf("exit code %d, want 0: %s", code, stderr)
			}
			s.expectNoTrainJobs(t, namespace)
		})
	}
	t.Run("a namespaced runtime, on one node", func(t *testing.T) {
		t.Parallel()
		if _, code, stderr := s.runtimeTest(t, "trainingruntime/openmpi-team", "-n", tenantName, "--nodes", "1"); code != 0 {
			t.Errorf("exit code %d, want 0: %s", code, stderr)
		}
	})
}

// TestRuntimeTestPrintsTheDocumentedOutput checks that `trainyard runtime test` prints the output in docs/trying.md.
// The test ignores times, lines about progress, the number of cluster nodes, and the number of ranks for which the
// hosts have room. The test accepts output without the details of passed checks, because the command does not always
// print these details. When a check passes, the command also marks earlier open checks as passed, and prints no details
// for the earlier checks. Checks that need the launcher's log are different: such a check passes only after the command
// has read the log.
func TestRuntimeTestPrintsTheDocumentedOutput(t *testing.T) {
	t.Parallel()
	s := useCluster(t)
	page, err := os.ReadFile(repo.Path(t, "docs", "trying.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, documented, _ := strings.Cut(string(page), "```text\n$ trainyard runtime test openmpi --namespace team\n")
	documented, _, _ = strings.Cut(documented, "```")
	out, err := exec.CommandContext(t.Context(), s.trainyard, "runtime", "test", "openmpi", "--namespace", tenantName, "--kubeconfig", s.kubeconfig).CombinedOutput()
	if err != nil {
		t.Error(err)
	}
	want, got := stableLines(documented), stableLines(string(out))
	for i := range min(len(want), len(got)) {
		if title, _, _ := strings.Cut(want[i], ": "); strings.HasPrefix(title, "ok ") && got[i] == title {
			got[i] = want[i]
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("output: -docs/trying.md +got:\n%s\n%s", diff, out)
	}
}

var (
	times        = regexp.MustCompile(` *\d+\.\d s`)
	clusterNodes = regexp.MustCompile(`\d cluster nodes?`)
	roomForRanks = regexp.MustCompile(`room for \d+`) // depends on the CPU limits of pods
)

func stableLines(text string) []string {
	text = clusterNodes.ReplaceAllString(times.ReplaceAllString(text, " # s"), "# cluster nodes")
	text = roomForRanks.ReplaceAllString(text, "room for #")
	return slices.DeleteFunc(strings.Split(strings.TrimSpace(text), "\n"), func(line string) bool { return strings.HasPrefix(line, "...") })
}

func (s *sandbox) expectNoTrainJobs(t *testing.T, namespace string) {
	t.Helper()
	if out, err := s.runKubectl("", "-n", namespace, "get", "trainjobs", "-o", "name"); err != nil || out != "" {
		t.Errorf("TrainJobs after the test: %v %s, want none", err, out)
	}
}

func TestRuntimeTestReportsBrokenRuntimes(t *testing.T) {
	t.Parallel()
	s := useCluster(t)
	for name, tc := range map[string]struct {
		base   string
		change func(*testing.T, *trainer.TrainingRuntimeSpec)
		check  string // the check that fails
		want   []string
		open   bool // the namespace admits any pod
	}{
		"an image that does not exist": {
			"openmpi", func(_ *testing.T, spec *trainer.TrainingRuntimeSpec) {
				setImage(spec, "localhost/nowhere:1", corev1.PullNever)
			},
			"image", []string{"ErrImageNeverPull", "localhost/nowhere:1", "imagePullPolicy Never forbids"}, false,
		},
		"an image of an unreachable registry": {
			"openmpi", func(_ *testing.T, spec *trainer.TrainingRuntimeSpec) {
				setImage(spec, "127.0.0.1:9/nowhere:1", corev1.PullIfNotPresent)
			},
			"image", []string{"ImagePullBackOff", "cannot reach the registry"}, false,
		},
		"another path of sshd": {
			"openmpi", func(t *testing.T, spec *trainer.TrainingRuntimeSpec) {
				rewrite(t, findContainer(spec, jobs.Node, jobs.MainContainer), `exec "$sshd"`, `exec /opt/ssh/sbin/sshd`)
			},
			"sshd", []string{"node ", "/opt/ssh/sbin/sshd: not found", "no sshd where the runtime expects it"}, false, // "node " without a number, because any node can fail first
		},
		"a user that the namespace forbids": {
			"openmpi", func(_ *testing.T, spec *trainer.TrainingRuntimeSpec) { setUser(spec, asRoot) },
			"placed", []string{"violates PodSecurity", "runAsUser=0", "Pod Security level"}, false,
		},
		"a user that the pod forbids": {
			"openmpi", func(_ *testing.T, spec *trainer.TrainingRuntimeSpec) { setUser(spec, asRoot) },
			"user", []string{"CreateContainerConfigError", "non-root", "Set runAsUser"}, true,
		},
		"a user that cannot read the key": {
			"openmpi", func(_ *testing.T, spec *trainer.TrainingRuntimeSpec) {
				setUser(spec, &corev1.PodSecurityContext{RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](4711), RunAsGroup: ptr.To[int64](4711)})
			},
			"sshd", []string{"id_rsa", "fsGroup"}, false,
		},
		"keys mounted elsewhere": {
			"openmpi", func(_ *testing.T, spec *trainer.TrainingRuntimeSpec) {
				spec.MLPolicy.MPI.SSHAuthMountPath = ptr.To("/root/.ssh")
			},
			"sshd", []string{"Unable to load host key", "sshAuthMountPath"}, false,
		},
		"no mpirun": {
			"openmpi", func(_ *testing.T, spec *trainer.TrainingRuntimeSpec) {
				setEnv(findContainer(spec, jobs.Launcher, jobs.MainContainer), "PATH", "/usr/sbin")
			},
			"mpirun", []string{`"mpirun": executable file not found`, "not on the PATH"}, false,
		},
		"Open MPI 5 without its variables": {
			"openmpi5", func(_ *testing.T, spec *trainer.TrainingRuntimeSpec) {
				launcher := findContainer(spec, jobs.Launcher, jobs.MainContainer)
				launcher.Env = slices.DeleteFunc(launcher.Env, func(v corev1.EnvVar) bool { return strings.HasPrefix(v.Name, "PRTE_MCA_") })
			},
			"ranks", []string{"1 host, want 3", "PRTE_MCA_ for Open MPI 5"}, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			create := s.makeNamespace
			if tc.open {
				create = s.openNamespace
			}
			namespace := create(t)
			runtime := s.changedRuntime(t, tc.base, func(spec *trainer.TrainingRuntimeSpec) { tc.change(t, spec) })
			result, code, stderr := s.runtimeTest(t, runtime, "--namespace", namespace)
			if code != 7 || result.Passed || result.TimedOut {
				t.Errorf("exit code %d, passed %v, timed out %v, want 7, false, false", code, result.Passed, result.TimedOut)
			}
			expectFailedCheck(t, result, tc.check, tc.want)
			for _, want := range tc.want {
				if !strings.Contains(stderr, want) {
					t.Errorf("the error output is %s, want it to contain %q", stderr, want)
				}
			}
			s.expectNoTrainJobs(t, namespace)
		})
	}
}

// asRoot is a security context that contradicts itself: it sets user 0 and forbids root.
var asRoot = &corev1.PodSecurityContext{RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](0)}

// expectFailedCheck checks that the given check failed, that all earlier checks passed, and that no later check was
// reached.
func expectFailedCheck(t *testing.T, result trial.Result, check string, wants []string) {
	t.Helper()
	at := slices.IndexFunc(result.Checks, func(c trial.Check) bool { return c.Name == check })
	for i, c := range result.Checks {
		want := trial.NotReached
		if i < at {
			want = trial.Passed
		} else if i == at {
			want = trial.Failed
		}
		if c.Status != want {
			t.Errorf("check %s is %s, want %s: %s", c.Name, c.Status, want, c.Detail)
		}
	}
	if at < 0 {
		t.Fatalf("the result has no check %s", check)
	}
	text := strings.Join([]string{result.Checks[at].Detail, result.Checks[at].Evidence, result.Checks[at].Hint}, "\n")
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("the failed check reports %s, want it to contain %q", text, want)
		}
	}
}

func setImage(spec *trainer.TrainingRuntimeSpec, image string, policy corev1.PullPolicy) {
	for _, p := range podSpecs(spec) {
		for _, c := range listContainers(p) {
			c.Image, c.ImagePullPolicy = image, policy
		}
	}
}

// setUser replaces the security contexts of the pods. It keeps only the seccomp profile, which the Pod Security level
// "restricted" requires.
func setUser(spec *trainer.TrainingRuntimeSpec, user *corev1.PodSecurityContext) {
	for _, p := range podSpecs(spec) {
		profile := p.SecurityContext.SeccompProfile
		p.SecurityContext = user.DeepCopy()
		p.SecurityContext.SeccompProfile = profile
	}
}
