//go:build linux

package contract

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainyard/trainyard/test/podrunner"
	"github.com/trainyard/trainyard/test/repo"
)

func TestMain(m *testing.M) { os.Exit(podrunner.Main(m)) }

const scriptPath = "examples/images/check-image.sh"

// check executes check-image.sh as a user without a passwd entry. The parameter "fakes" maps names of programs to
// shell scripts that run in place of these programs. The parameter "missing" lists programs that the script must not
// find.
func check(t *testing.T, fakes map[string]string, missing []string, args ...string) podrunner.Result {
	t.Helper()
	text, err := os.ReadFile(repo.Path(t, scriptPath))
	if err != nil {
		t.Fatal(err)
	}
	pod := podrunner.NewPod(t, "image-0", nil)
	pod.Replace = map[string]string{}
	dir := t.TempDir()
	for name, body := range fakes {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		pod.Replace["/image/bin/"+name] = file
	}
	for _, name := range missing {
		pod.Replace[programPath(t, name)] = "/dev/null"
	}
	return pod.Run(corev1.Container{
		Name:    "check",
		Command: append([]string{"sh", "-c", string(text), scriptPath}, args...),
		Env:     []corev1.EnvVar{{Name: "PATH", Value: "/image/bin:/usr/bin:/bin"}},
	})
}

func programPath(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		path, err = exec.LookPath("/usr/sbin/" + name)
	}
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		t.Fatalf("%v: run `make packages`", err)
	}
	return path
}

// Each of these variables contains fake programs that make check-image.sh recognize a certain MPI
// implementation.
var (
	hydra = map[string]string{"mpirun": "echo HYDRA build details:", "hydra_pmi_proxy": "exit 1"}
	intel = map[string]string{
		"mpirun":             "echo 'Intel(R) MPI Library for Linux* OS, Version 2021.16'",
		"hydra_bstrap_proxy": "exit 1", "hydra_pmi_proxy": "exit 1",
	}
	openMPI5 = map[string]string{"mpirun": "echo 'mpirun (Open MPI) 5.0.11'", "prted": "exit 1"}
)

func TestCheckImageReportsMissingPrograms(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		mpi     string
		fakes   map[string]string
		missing []string
		want    []string
	}{
		"nothing, with Open MPI 4": {mpi: "openmpi"},
		"nothing, with Open MPI 5": {mpi: "openmpi", fakes: openMPI5, missing: []string{"orted"}},
		"nothing, with MPICH":      {mpi: "mpich", fakes: hydra},
		"I_MPI_ROOT": {mpi: "intel", fakes: intel, want: []string{
			"I_MPI_ROOT: set I_MPI_ROOT and LD_LIBRARY_PATH with ENV to the values that setvars.sh sets",
		}},
		"sshd": {mpi: "openmpi", missing: []string{"sshd"}, want: []string{"sshd: install openssh-server"}},
		"ssh": {mpi: "openmpi", missing: []string{"ssh"}, want: []string{
			"ssh: install openssh-client (Debian), openssh-clients (Red Hat)",
		}},
		"ssh, because it is Dropbear's": {mpi: "openmpi", fakes: map[string]string{"ssh": "echo Dropbear v2022.83 >&2"}, want: []string{
			"ssh of OpenSSH: install OpenSSH 7.8 or newer",
		}},
		"ssh, because it is old": {mpi: "openmpi", fakes: map[string]string{"ssh": "echo OpenSSH_7.4p1, OpenSSL 1.0.2k-fips >&2"}, want: []string{
			"ssh of OpenSSH: install OpenSSH 7.8 or newer",
		}},
		"sshd, because it is old": {mpi: "openmpi", fakes: map[string]string{"sshd": "echo OpenSSH_7.4p1, OpenSSL 1.0.2k-fips >&2; exit 1"}, want: []string{
			"sshd of OpenSSH 7.8 or newer: install OpenSSH 7.8 or newer",
		}},
		"mpirun": {mpi: "openmpi", missing: []string{"mpirun"}, want: []string{
			"mpirun: install Open MPI, and put its folder bin on PATH with ENV",
		}},
		"Open MPI's daemon":                  {mpi: "openmpi", missing: []string{"orted"}, want: []string{"orted: put it on PATH with ENV, as mpirun is"}},
		"the daemon of version 5":            {mpi: "openmpi", fakes: map[string]string{"mpirun": openMPI5["mpirun"]}, want: []string{"prted: put it on PATH with ENV, as mpirun is"}},
		"Hydra's daemon":                     {mpi: "mpich", fakes: map[string]string{"mpirun": hydra["mpirun"]}, want: []string{"hydra_pmi_proxy: put it on PATH with ENV, as mpirun is"}},
		"another MPI than the requested one": {mpi: "openmpi", fakes: hydra, want: []string{"mpirun of Open MPI 4 or 5: it prints: HYDRA build details:"}},
		"test, which is also a shell builtin": {mpi: "openmpi", missing: []string{"test"}, want: []string{
			"test: install coreutils",
		}},
		"getent": {mpi: "openmpi", missing: []string{"getent"}, want: []string{
			"getent: install libc-bin (Debian), glibc-common (Red Hat)", "getent ahosts: install the getent of the C library",
		}},
		"a timeout with the right exit code": {mpi: "openmpi", fakes: map[string]string{"timeout": "exit 143"}, want: []string{
			"timeout that exits with 124 after the time limit: install coreutils",
		}},
		"nproc": {mpi: "mpich", fakes: hydra, missing: []string{"nproc"}, want: []string{
			"nproc: install coreutils", "nproc that counts CPUs: install coreutils",
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result := check(t, tc.fakes, tc.missing, tc.mpi)
			if diff := cmp.Diff(tc.want, failedChecks(t, result.Log)); diff != "" {
				t.Errorf("failed checks: -want +got:\n%s", diff)
			}
			if failed := len(tc.want) > 0; failed != (result.Code == 1) || !failed && result.Code != 0 {
				t.Errorf("exit code %d:\n%s", result.Code, result.Log)
			}
		})
	}
}

// failedChecks returns the failed checks in the output of check-image.sh. Each line of the output must be a note or the
// result of a check.
func failedChecks(t *testing.T, log string) []string {
	t.Helper()
	var failed []string
	passed := 0
	for line := range strings.Lines(log) {
		check, bad := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "MISSING  ")
		switch {
		case bad:
			failed = append(failed, check)
		case strings.HasPrefix(line, "ok       "):
			passed++
		case strings.HasPrefix(line, "NOTE     "):
		default:
			t.Errorf("the script printed %q, want a check", line)
		}
	}
	if passed < 20 {
		t.Errorf("%d checks passed, want at least 20:\n%s", passed, log)
	}
	return failed
}

func TestCheckImageNotesRequirementsOfTheSDK(t *testing.T) {
	t.Parallel()
	python := map[string]string{"python": "exit 0"}
	withPython := func(fakes map[string]string) map[string]string {
		fakes = maps.Clone(fakes)
		maps.Copy(fakes, python)
		return fakes
	}
	cases := map[string]struct {
		mpi     string
		fakes   map[string]string
		missing []string
		want    []string
	}{
		"nothing, with Open MPI": {mpi: "openmpi", fakes: python},
		"bash":                   {mpi: "openmpi", fakes: python, missing: []string{"bash"}, want: []string{"bash: training functions of the Kubeflow SDK need a program with this name"}},
		"PATH, with MPICH": {mpi: "mpich", fakes: withPython(hydra), want: []string{
			"PATH: for training functions of the Kubeflow SDK, set env.PATH of the runtime to /mpi-run/bin:/image/bin:/usr/bin:/bin",
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result := check(t, tc.fakes, tc.missing, tc.mpi)
			var got []string
			for line := range strings.Lines(result.Log) {
				if note, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "NOTE     "); ok {
					got = append(got, note)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || result.Code != 0 {
				t.Errorf("exit code %d, want 0; notes: -want +got:\n%s", result.Code, diff)
			}
		})
	}
}

func TestCheckImagePrintsUsage(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		args []string
		code int
	}{
		"--help":              {args: []string{"--help"}},
		"without an MPI":      {code: 2},
		"with an unknown MPI": {args: []string{"lam"}, code: 2},
		"with two MPIs":       {args: []string{"mpich", "intel"}, code: 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result := check(t, nil, nil, tc.args...)
			if usage := "usage: check-image.sh openmpi|mpich|intel\n"; result.Code != tc.code || !strings.HasPrefix(result.Log, usage) {
				t.Errorf("exit code %d, want %d and the usage:\n%s", result.Code, tc.code, result.Log)
			}
		})
	}
}

func TestCheckImagePassesShellcheck(t *testing.T) {
	t.Parallel()
	if out, err := exec.Command("shellcheck", "-s", "sh", repo.Path(t, scriptPath)).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
