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

// runtimeTest runs `trainyard runtime test` as a person's pipeline does.
func (s *sandbox) runtimeTest(t *testing.T, args ...string) (trial.Result, int, string) {
	t.Helper()
	args = append([]string{"runtime", "test", "-o", "json", "--kubeconfig", s.kubeconfig}, args...)
	var words bytes.Buffer
	cmd := exec.CommandContext(t.Context(), s.trainyard, args...)
	cmd.Stderr = &words
	out, err := cmd.Output()
	code := 0
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	var result trial.Result
	if err := json.Unmarshal(out, &result); err != nil {
		t.Fatalf("%v: %s%s", err, out, &words)
	}
	t.Logf("%s", &words)
	return result, code, words.String()
}

// TestGoodRuntimesPassTheirTest: and nothing is left of it.
func TestGoodRuntimesPassTheirTest(t *testing.T) {
	t.Parallel()
	s := start(t)
	for name, args := range map[string][]string{
		"Open MPI 4":                       {"openmpi"},
		"Open MPI 5":                       {"openmpi5"},
		"Open MPI 5 without launcher node": {"openmpi5-apart"},
		"MPICH":                            {"mpich"},
		"MPICH as a strict platform's":     {"mpich-strict"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			namespace := s.namespace(t)
			result, code, words := s.runtimeTest(t, append(args, "--namespace", namespace)...)
			if code != 0 || !result.Passed {
				t.Errorf("exit code %d: %s", code, words)
			}
			s.expectNothingLeft(t, namespace)
		})
	}
	t.Run("of a namespace, on one node", func(t *testing.T) {
		t.Parallel()
		if _, code, words := s.runtimeTest(t, "trainingruntime/openmpi-team", "-n", team, "--nodes", "1"); code != 0 {
			t.Errorf("exit code %d: %s", code, words)
		}
	})
}

// TestTheDocumentedTestIsTrue: what docs/trying.md shows is what is printed, but for times and
// for what is waited for meanwhile. A check that a later one overtakes may say less.
func TestTheDocumentedTestIsTrue(t *testing.T) {
	t.Parallel()
	s := start(t)
	page, err := os.ReadFile(repo.Path(t, "docs", "trying.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(string(page), "```text\n$ trainyard runtime test openmpi --namespace team\n")
	shown, _, _ = strings.Cut(shown, "```")
	out, err := exec.CommandContext(t.Context(), s.trainyard, "runtime", "test", "openmpi", "--namespace", team, "--kubeconfig", s.kubeconfig).CombinedOutput()
	if err != nil {
		t.Error(err)
	}
	want, got := timeless(shown), timeless(string(out))
	for i := range min(len(want), len(got)) {
		if title, _, _ := strings.Cut(want[i], ": "); strings.HasPrefix(title, "ok ") && got[i] == title {
			got[i] = want[i]
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-docs/trying.md +printed:\n%s\n%s", diff, out)
	}
}

var (
	times        = regexp.MustCompile(` *\d+\.\d s`)
	clusterNodes = regexp.MustCompile(`\d cluster nodes?`)
)

// timeless are lines without what differs from run to run.
func timeless(text string) []string {
	text = clusterNodes.ReplaceAllString(times.ReplaceAllString(text, " # s"), "# cluster nodes")
	return slices.DeleteFunc(strings.Split(strings.TrimSpace(text), "\n"), func(line string) bool { return strings.HasPrefix(line, "...") })
}

func (s *sandbox) expectNothingLeft(t *testing.T, namespace string) {
	t.Helper()
	if out, err := s.try("", "-n", namespace, "get", "trainjobs", "-o", "name"); err != nil || out != "" {
		t.Errorf("left: %v %s", err, out)
	}
}

// TestBadRuntimesFailTheirTest at the step that is bad, with a word on what to do.
func TestBadRuntimesFailTheirTest(t *testing.T) {
	t.Parallel()
	s := start(t)
	for name, tc := range map[string]struct {
		base   string
		change func(*testing.T, *trainer.TrainingRuntimeSpec)
		check  string // that fails
		says   []string
		open   bool // the namespace admits any pod
	}{
		"an image that nobody has": {
			"openmpi", func(_ *testing.T, spec *trainer.TrainingRuntimeSpec) {
				setImage(spec, "localhost/nowhere:1", corev1.PullNever)
			},
			"image", []string{"ErrImageNeverPull", "localhost/nowhere:1", "imagePullPolicy Never"}, false,
		},
		"an image of a registry that does not answer": {
			"openmpi", func(_ *testing.T, spec *trainer.TrainingRuntimeSpec) {
				setImage(spec, "127.0.0.1:9/nowhere:1", corev1.PullIfNotPresent)
			},
			"image", []string{"ImagePullBackOff", "whether the registry can be reached"}, false,
		},
		"another path of sshd": {
			"openmpi", func(t *testing.T, spec *trainer.TrainingRuntimeSpec) {
				rewrite(t, container(spec, jobs.Node, jobs.Main), `exec "$sshd"`, `exec /opt/ssh/sbin/sshd`)
			},
			"sshd", []string{"node ", "/opt/ssh/sbin/sshd: not found", "no sshd where the runtime looks"}, false, // whichever fails first
		},
		"a user that the namespace forbids": {
			"openmpi", func(_ *testing.T, spec *trainer.TrainingRuntimeSpec) { setUser(spec, asRoot) },
			"placed", []string{"violates PodSecurity", "runAsUser=0", "fit level restricted"}, false,
		},
		"a user that the pod forbids": {
			"openmpi", func(_ *testing.T, spec *trainer.TrainingRuntimeSpec) { setUser(spec, asRoot) },
			"user", []string{"CreateContainerConfigError", "non-root", "set the runtime's user"}, true,
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
				setEnv(container(spec, jobs.Launcher, jobs.Main), "PATH", "/usr/sbin")
			},
			"mpirun", []string{`"mpirun": executable file not found`, "not on the image's PATH"}, false,
		},
		"Open MPI 5 without what it reads": {
			"openmpi5", func(_ *testing.T, spec *trainer.TrainingRuntimeSpec) {
				launcher := container(spec, jobs.Launcher, jobs.Main)
				launcher.Env = slices.DeleteFunc(launcher.Env, func(v corev1.EnvVar) bool { return strings.HasPrefix(v.Name, "PRTE_MCA_") })
			},
			"ranks", []string{"1 host, want 3", "Open MPI 5 needs PRTE_MCA_"}, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			where := s.namespace
			if tc.open {
				where = s.openNamespace
			}
			namespace := where(t)
			runtime := s.spoil(t, tc.base, func(spec *trainer.TrainingRuntimeSpec) { tc.change(t, spec) })
			result, code, words := s.runtimeTest(t, runtime, "--namespace", namespace)
			if code != 7 || result.Passed || result.TimedOut {
				t.Errorf("exit code %d, passed %v, timed out %v", code, result.Passed, result.TimedOut)
			}
			expectFailure(t, result, tc.check, tc.says)
			for _, want := range tc.says {
				if !strings.Contains(words, want) {
					t.Errorf("a person does not read %q", want)
				}
			}
			s.expectNothingLeft(t, namespace)
		})
	}
}

// asRoot is what a pod cannot be: root, and no root.
var asRoot = &corev1.PodSecurityContext{RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](0)}

// expectFailure wants one check to have failed, those before it passed, and none after it reached.
func expectFailure(t *testing.T, result trial.Result, check string, says []string) {
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
		t.Fatalf("there is no check %s", check)
	}
	text := strings.Join([]string{result.Checks[at].Detail, result.Checks[at].Evidence, result.Checks[at].Hint}, "\n")
	for _, want := range says {
		if !strings.Contains(text, want) {
			t.Errorf("the check says nothing of %q: %s", want, text)
		}
	}
}

// setImage gives all containers another image.
func setImage(spec *trainer.TrainingRuntimeSpec, image string, policy corev1.PullPolicy) {
	for _, p := range pods(spec) {
		for _, c := range containers(p) {
			c.Image, c.ImagePullPolicy = image, policy
		}
	}
}

// setUser gives all pods another user, and what else Pod Security's level restricted wants.
func setUser(spec *trainer.TrainingRuntimeSpec, user *corev1.PodSecurityContext) {
	for _, p := range pods(spec) {
		profile := p.SecurityContext.SeccompProfile
		p.SecurityContext = user.DeepCopy()
		p.SecurityContext.SeccompProfile = profile
	}
}
