//go:build linux

package contract

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainyard/trainyard/test/jail"
	"github.com/trainyard/trainyard/test/repo"
)

func TestMain(m *testing.M) { os.Exit(jail.Main(m)) }

const script = "examples/images/check-image.sh"

// check runs the script by a user without a name. Programs in fakes come before those of this
// machine, and what is gone cannot be found at all.
func check(t *testing.T, fakes map[string]string, gone []string, args ...string) jail.Result {
	t.Helper()
	text, err := os.ReadFile(repo.Path(t, script))
	if err != nil {
		t.Fatal(err)
	}
	pod := jail.NewPod(t, "image-0", nil)
	pod.Replace = map[string]string{}
	dir := t.TempDir()
	for name, body := range fakes {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		pod.Replace["/image/bin/"+name] = file
	}
	for _, name := range gone {
		pod.Replace[located(t, name)] = "/dev/null"
	}
	return pod.Run(corev1.Container{
		Name:    "check",
		Command: append([]string{"sh", "-c", string(text), script}, args...),
		Env:     []corev1.EnvVar{{Name: "PATH", Value: "/image/bin:/usr/bin:/bin"}},
	})
}

// located is where a program lies when all links are followed.
func located(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		path, err = exec.LookPath("/usr/sbin/" + name)
	}
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		t.Fatalf("%v: make packages installs it", err)
	}
	return path
}

// hydra and intel are what their mpirun says.
var (
	hydra = map[string]string{"mpirun": "echo HYDRA build details:", "hydra_pmi_proxy": "exit 1"}
	intel = map[string]string{
		"mpirun":             "echo 'Intel(R) MPI Library for Linux* OS, Version 2021.16'",
		"hydra_bstrap_proxy": "exit 1", "hydra_pmi_proxy": "exit 1",
	}
	openMPI5 = map[string]string{"mpirun": "echo 'mpirun (Open MPI) 5.0.11'", "prted": "exit 1"}
)

func TestTheScriptFindsWhatIsMissing(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		mpi   string
		fakes map[string]string
		gone  []string
		want  []string
	}{
		"nothing, with Open MPI 4": {mpi: "openmpi"},
		"nothing, with Open MPI 5": {mpi: "openmpi", fakes: openMPI5, gone: []string{"orted"}},
		"nothing, with MPICH":      {mpi: "mpich", fakes: hydra},
		"I_MPI_ROOT": {mpi: "intel", fakes: intel, want: []string{
			"I_MPI_ROOT: set it with ENV, as setvars.sh does, and LD_LIBRARY_PATH too",
		}},
		"sshd": {mpi: "openmpi", gone: []string{"sshd"}, want: []string{"sshd: install openssh-server"}},
		"ssh": {mpi: "openmpi", gone: []string{"ssh"}, want: []string{
			"ssh: install openssh-client (Debian), openssh-clients (Red Hat)",
		}},
		"ssh, because it is of somebody else": {mpi: "openmpi", fakes: map[string]string{"ssh": "echo Dropbear v2022.83 >&2"}, want: []string{
			"ssh of OpenSSH: install OpenSSH 7.8 or newer",
		}},
		"ssh, because it is old": {mpi: "openmpi", fakes: map[string]string{"ssh": "echo OpenSSH_7.4p1, OpenSSL 1.0.2k-fips >&2"}, want: []string{
			"ssh of OpenSSH: install OpenSSH 7.8 or newer",
		}},
		"sshd, because it is old": {mpi: "openmpi", fakes: map[string]string{"sshd": "echo OpenSSH_7.4p1, OpenSSL 1.0.2k-fips >&2; exit 1"}, want: []string{
			"sshd of OpenSSH 7.8 or newer: install a newer one",
		}},
		"mpirun": {mpi: "openmpi", gone: []string{"mpirun"}, want: []string{
			"mpirun: install Open MPI, and put its folder bin on PATH with ENV",
		}},
		"Open MPI's daemon":         {mpi: "openmpi", gone: []string{"orted"}, want: []string{"orted: put it on PATH with ENV, beside mpirun"}},
		"the daemon of version 5":   {mpi: "openmpi", fakes: map[string]string{"mpirun": openMPI5["mpirun"]}, want: []string{"prted: put it on PATH with ENV, beside mpirun"}},
		"Hydra's daemon":            {mpi: "mpich", fakes: map[string]string{"mpirun": hydra["mpirun"]}, want: []string{"hydra_pmi_proxy: put it on PATH with ENV, beside mpirun"}},
		"another MPI than is there": {mpi: "openmpi", fakes: hydra, want: []string{"mpirun of Open MPI 4 or 5: it says: HYDRA build details:"}},
		"test, which shells have of their own": {mpi: "openmpi", gone: []string{"test"}, want: []string{
			"test: install coreutils",
		}},
		"getent": {mpi: "openmpi", gone: []string{"getent"}, want: []string{
			"getent: install libc-bin (Debian), glibc-common (Red Hat)", "getent ahosts: install the getent of the C library",
		}},
		"a timeout that says so": {mpi: "openmpi", fakes: map[string]string{"timeout": "exit 143"}, want: []string{
			"timeout that ends with 124 when time is up: install coreutils",
		}},
		"nproc": {mpi: "mpich", fakes: hydra, gone: []string{"nproc"}, want: []string{
			"nproc: install coreutils", "nproc that counts CPUs: install coreutils",
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result := check(t, tc.fakes, tc.gone, tc.mpi)
			if diff := cmp.Diff(tc.want, missing(t, result.Log)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if failed := len(tc.want) > 0; failed != (result.Code == 1) || !failed && result.Code != 0 {
				t.Errorf("ended with %d:\n%s", result.Code, result.Log)
			}
		})
	}
}

// missing reads what the script prints: nothing but checks, of which few fail.
func missing(t *testing.T, log string) []string {
	t.Helper()
	var missing []string
	passed := 0
	for line := range strings.Lines(log) {
		what, bad := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "MISSING  ")
		switch {
		case bad:
			missing = append(missing, what)
		case strings.HasPrefix(line, "ok       "):
			passed++
		default:
			t.Errorf("printed %q, which is no check", line)
		}
	}
	if passed < 20 {
		t.Errorf("only %d checks passed:\n%s", passed, log)
	}
	return missing
}

func TestTheScriptKnowsHowItIsCalled(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		args []string
		code int
	}{
		"asked for help":      {args: []string{"--help"}},
		"without an MPI":      {code: 2},
		"with an unknown MPI": {args: []string{"lam"}, code: 2},
		"with two of them":    {args: []string{"mpich", "intel"}, code: 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result := check(t, nil, nil, tc.args...)
			if usage := "usage: check-image.sh openmpi|mpich|intel\n"; result.Code != tc.code || !strings.HasPrefix(result.Log, usage) {
				t.Errorf("ended with %d, want %d:\n%s", result.Code, tc.code, result.Log)
			}
		})
	}
}

func TestTheScriptPassesShellcheck(t *testing.T) {
	t.Parallel()
	if out, err := exec.Command("shellcheck", "-s", "sh", repo.Path(t, script)).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
