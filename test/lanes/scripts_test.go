package lanes

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/test/repo"
)

// runWithPrograms runs a command, and returns its standard output. The shell scripts in the map "programs" run in place
// of programs such as go.
func runWithPrograms(t *testing.T, dir string, programs map[string]string, command ...string) (string, error) {
	t.Helper()
	bin := t.TempDir()
	for name, script := range programs {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(command[0], command[1:]...)
	// If `make test` runs this test, the variable MAKEFLAGS contains the options of `make test`. If CI runs `make
	// test`, CI can also set the variable TRAINYARD_TRAINERS. Clear both variables, so that they do not change what the
	// command does.
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "MAKEFLAGS=", "TRAINYARD_TRAINERS=")
	out, err := cmd.Output()
	return string(out), err
}

func expectResult(t *testing.T, got string, err error, want string, fails bool) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("output: -want +got:\n%s", diff)
	}
	if (err != nil) != fails {
		t.Errorf("error: %v, want an error: %t", err, fails)
	}
}

// TestLanesStaleRunsStaleLanes checks that `make lanes-stale` runs the stale lanes, and stops if a lane fails. In this
// test, scripts replace the program that lists the stale lanes, and the make commands that run the lanes.
func TestLanesStaleRunsStaleLanes(t *testing.T) {
	const list = `[ "$*" = "run ./test/lanes/cmd/lanes stale" ] && `
	for name, test := range map[string]struct {
		list, end, want string // list and end are shell commands
		fails           bool
	}{
		"two lanes are stale":          {list + "printf 'kueue\\ncrash\\n'", "", "run kueue\nrun crash\n", false},
		"no lane is stale":             {list + "true", "", "", false},
		"a lane fails":                 {list + "printf 'kueue\\ncrash\\n'", "exit 1", "run kueue\n", true},
		"the list of lanes is unknown": {"exit 1", "", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			programs := map[string]string{"go": test.list, "run": "echo run $*\n" + test.end}
			got, err := runWithPrograms(t, repo.Path(t), programs, "make", "-s", "lanes-stale", "MAKE=run")
			expectResult(t, got, err, test.want, test.fails)
		})
	}
}

// TestContinuousIntegrationRunsSmoke runs the script .ci/run in a temporary folder, and checks which make targets the
// script runs. The test replaces three programs with scripts. The first program is make. The second program lists the
// stale lanes. The third program checks whether the machine can run pods.
func TestContinuousIntegrationRunsSmoke(t *testing.T) {
	const (
		all     = "make test, all trainers\nmake lint\n"
		stale   = `[ "$*" = "run ./test/lanes/cmd/lanes stale" ] && printf 'kueue\ntrainers\n' && exit; `
		fresh   = `[ "$*" = "run ./test/lanes/cmd/lanes stale" ] && echo kueue && exit; `
		compile = `[ "$*" = "build -o bin/sandbox ./test/cluster/cmd/sandbox" ] && mkdir bin && cp check bin/sandbox`
		passes  = `echo "make $*${TRAINYARD_TRAINERS:+, all trainers}"`
	)
	for name, test := range map[string]struct {
		make, program, check string // scripts
		want                 string
		fails                bool
	}{
		"the machine can run pods":     {passes, stale + compile, "echo ready", all + "make smoke\n", false},
		"the machine cannot run pods":  {passes, stale + compile, "echo needs root >&2; exit 1", all + "SKIP\tsmoke: needs root\n", false},
		"the check does not compile":   {passes, stale + "exit 1", "echo ready", all, true},
		"make test fails":              {passes + "; exit 1", stale + compile, "echo ready", "make test, all trainers\n", true},
		"the lane trainers is fresh":   {passes, fresh + compile, "echo ready", "make test\nSKIP\ttrainers: passed with the present inputs (docs/lanes.md)\nmake lint\nmake smoke\n", false},
		"the list of lanes is unknown": {passes, "exit 1", "echo ready", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			r := Repository{t.TempDir()}
			write(t, r, ".ci/run", read(t, ".ci/run"))
			write(t, r, "check", "#!/bin/sh\n[ \"$*\" = check ] || exit 0\n"+test.check)
			if err := os.Chmod(filepath.Join(r.Root, "check"), 0o755); err != nil {
				t.Fatal(err)
			}
			got, err := runWithPrograms(t, r.Root, map[string]string{"make": test.make, "go": test.program}, "bash", ".ci/run")
			expectResult(t, got, err, test.want, test.fails)
		})
	}
}
