package lanes

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/test/repo"
)

func newRepository(t *testing.T) Repository {
	t.Helper()
	r := Repository{Root: t.TempDir()}
	write(t, r, "a/file", "1")
	write(t, r, "b/file", "1")
	write(t, r, Page, "")
	git(t, r, "init", "-q")
	commit(t, r)
	return r
}

func write(t *testing.T, r Repository, path, content string) {
	t.Helper()
	path = filepath.Join(r.Root, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(repo.Path(t, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func git(t *testing.T, r Repository, args ...string) {
	t.Helper()
	args = append([]string{"-C", r.Root, "-c", "user.name=a", "-c", "user.email=a@acme.example"}, args...)
	if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
}

func commit(t *testing.T, r Repository) {
	t.Helper()
	git(t, r, "add", "-A")
	git(t, r, "commit", "-q", "-m", "change")
}

func isStale(t *testing.T, r Repository, lane Lane) bool {
	t.Helper()
	records, err := r.Records()
	if err != nil {
		t.Fatal(err)
	}
	stale, err := r.IsStale(t.Context(), lane, records[lane.Name])
	if err != nil {
		t.Fatal(err)
	}
	return stale
}

func TestOnlyChangedInputsMakeALaneStale(t *testing.T) {
	for name, lane := range map[string]Lane{
		"b is no input":          {Name: "e2e", Inputs: []string{"a"}},
		"b is an excepted input": {Name: "e2e", Inputs: []string{"a", "b"}, Except: []string{"b"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t)
			if !isStale(t, r, lane) {
				t.Error("a lane without a record is not stale")
			}
			if err := r.Run(t.Context(), lane, []string{"true"}); err != nil {
				t.Fatal(err)
			}
			if isStale(t, r, lane) {
				t.Error("the lane has just passed, but is reported as stale")
			}
			write(t, r, "b/file", "2")
			commit(t, r)
			if isStale(t, r, lane) {
				t.Error("the lane is stale after a change of b")
			}
			write(t, r, "a/file", "2")
			commit(t, r)
			if !isStale(t, r, lane) {
				t.Error("the lane is not stale after a change of its input a")
			}
		})
	}
}

// TestOnlyChangedModulesMakeALaneStale checks a lane whose input is go.mod. A new module in go.mod must not make the
// lane stale. A changed version or a removed module must make the lane stale.
func TestOnlyChangedModulesMakeALaneStale(t *testing.T) {
	const requiresA = "module m\n\ngo 1.26.0\n\nrequire a.example/a v1.0.0\n"
	for name, test := range map[string]struct {
		after string
		want  bool
	}{
		"a module is added":       {requiresA + "require b.example/b v1.0.0\n", false},
		"a version changes":       {strings.Replace(requiresA, "v1.0.0", "v1.0.1", 1), true},
		"a module is removed":     {"module m\n\ngo 1.26.0\n", true},
		"the version of Go rises": {strings.Replace(requiresA, "1.26.0", "1.26.1", 1), true},
	} {
		t.Run(name, func(t *testing.T) {
			r, lane := newRepository(t), Lane{Name: "e2e", Inputs: []string{"a", moduleFile}}
			write(t, r, moduleFile, requiresA)
			commit(t, r)
			if err := r.Run(t.Context(), lane, []string{"true"}); err != nil {
				t.Fatal(err)
			}
			write(t, r, moduleFile, test.after)
			commit(t, r)
			if got := isStale(t, r, lane); got != test.want {
				t.Errorf("IsStale() = %t, want %t", got, test.want)
			}
			everything := Lane{Name: "e2e", Inputs: []string{"."}}
			if !isStale(t, r, everything) {
				t.Error("a lane whose input is the whole repository is not stale")
			}
		})
	}
}

func TestRecordsOfUnknownCommitsAreStale(t *testing.T) {
	r, lane := newRepository(t), Lane{Name: "e2e", Inputs: []string{"a"}}
	stale, err := r.IsStale(t.Context(), lane, Record{Commit: "0123abcd"})
	if err != nil || !stale {
		t.Errorf("IsStale() = %t, %v, want true", stale, err)
	}
}

func TestFailedRunsAreNotRecorded(t *testing.T) {
	r, lane := newRepository(t), Lane{Name: "e2e", Inputs: []string{"a"}}
	if err := r.Run(t.Context(), lane, []string{"false"}); err == nil {
		t.Error("Run() returns no error for a command that fails")
	}
	if !isStale(t, r, lane) {
		t.Error("a failed run was recorded")
	}
}

func TestUncommittedInputsAreNotRecorded(t *testing.T) {
	for name, command := range map[string][]string{
		"changed before the run": {"true"},
		"changed by the run":     {"sh", "-c", "echo 2 >a/new"},
	} {
		t.Run(name, func(t *testing.T) {
			r, lane := newRepository(t), Lane{Name: "e2e", Inputs: []string{"a"}}
			if command[0] == "true" {
				write(t, r, "a/file", "2")
			}
			if err := r.Run(t.Context(), lane, command); err != nil {
				t.Fatal(err)
			}
			if !isStale(t, r, lane) {
				t.Error("a run with uncommitted inputs was recorded")
			}
		})
	}
}

func TestLanesRunWithoutGit(t *testing.T) {
	r, lane := Repository{Root: t.TempDir()}, Lane{Name: "e2e", Inputs: []string{"a"}}
	if err := r.Run(t.Context(), lane, []string{"touch", "ran"}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(r.Root, "ran")); err != nil {
		t.Error("the command did not run")
	}
}

func TestRecordsAreNoInput(t *testing.T) {
	r, lane := newRepository(t), Lane{Name: "test", Inputs: []string{"."}}
	if err := r.Run(t.Context(), lane, []string{"true"}); err != nil {
		t.Fatal(err)
	}
	commit(t, r)
	if isStale(t, r, lane) {
		t.Error("the lane is stale after its record was committed")
	}
}

// TestLanesAreTargets checks that the Makefile has a target for each lane, and that the target records the result of the
// lane. The test also checks that each input exists, and that docs/lanes.md shows the recorded results of the lanes.
// With TRAINYARD_UPDATE=1 in the environment, the test writes docs/lanes.md.
func TestLanesAreTargets(t *testing.T) {
	makefile := read(t, "Makefile")
	for _, lane := range All() {
		if !strings.Contains(makefile, "\n"+lane.Name+":") || !strings.Contains(makefile, "$(LANE) "+lane.Name+" ") {
			t.Errorf("the Makefile has no target %s that runs $(LANE) %[1]s", lane.Name)
		}
		for _, input := range slices.Concat(lane.Inputs, lane.Except) {
			if _, err := os.Stat(repo.Path(t, input)); err != nil {
				t.Errorf("input or exception of %s: %v", lane.Name, err)
			}
		}
	}
	records, err := Repository{Root: repo.Path(t)}.Records()
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("TRAINYARD_UPDATE") != "" {
		if err := os.WriteFile(repo.Path(t, Page), RenderPage(records), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(RenderPage(records)), read(t, Page)); diff != "" {
		t.Errorf("%s: -want +got:\n%s", Page, diff)
	}
}

// requiredLanes lists lanes that must exist. Without this list, no test would fail if a lane and its target were
// removed.
var requiredLanes = []string{
	"argocd", "bench", "crash", "e2e", "e2e-horovod", "fuzz", "gitops", "kueue", "packets", "race", "scale", "sdk", "smoke", "test", "trainers",
}

// TestTargetsAreLanes checks that the function All returns each lane that the Makefile runs with $(LANE). $(LANE) is
// the command that runs a lane, and records that the lane has passed. The test also fails if a lane in requiredLanes is
// missing.
func TestTargetsAreLanes(t *testing.T) {
	names := map[string]bool{}
	for _, lane := range All() {
		names[lane.Name] = true
	}
	for _, m := range lanePattern.FindAllStringSubmatch(read(t, "Makefile"), -1) {
		if !names[m[1]] {
			t.Errorf("the Makefile runs $(LANE) %s, which All() does not contain", m[1])
		}
	}
	for _, name := range requiredLanes {
		if !names[name] {
			t.Errorf("there is no lane %s", name)
		}
	}
}
