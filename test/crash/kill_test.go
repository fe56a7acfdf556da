//go:build linux

package crash

import (
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/trainyard/trainyard/bundles"
)

// many is how many files a large folder has.
const many = 3000

// ways are the two ways to swap folders.
var ways = map[string]bool{"exchange": false, "renaming": true}

// kills is how often each way is killed.
const kills = 200

// TestKill kills runs at random moments.
func TestKill(t *testing.T) {
	slow(t)
	for way, renaming := range ways {
		t.Run(way, func(t *testing.T) {
			found := map[string]int{}
			o := order{Dir: filepath.Join(t.TempDir(), "bundle"), Files: many, Trees: []int{1, 0}, Renaming: renaming}
			o.must(t)
			for range kills {
				o.killed(t, found)
				if t.Failed() {
					return
				}
			}
			t.Logf("%d kills: %v", kills, found)
		})
	}
}

// killed kills one run, looks at what it leaves, repairs it as --check does, and
// writes once more.
func (o order) killed(t *testing.T, found map[string]int) {
	t.Helper()
	endless := o
	endless.Rounds = math.MaxInt
	cmd := endless.command(t)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Duration(rand.Int64N(int64(600 * time.Millisecond))))
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	o.look(t, true, found)
	last := o
	last.Trees = []int{0}
	last.must(t)
	is(t, o.Dir, o.Files, 0)
}

// look looks at a folder, which was there or not, before and after it is repaired.
func (o order) look(t *testing.T, was bool, found map[string]int) {
	t.Helper()
	before, err := which(o.Dir, o.Files, 0, 1)
	if err != nil {
		t.Errorf("before the repair: %v", err)
	}
	if left := beside(t, o.Dir); len(left) > 0 {
		found["left something beside"]++
	}
	w := &bundles.Writer{ReadOnly: true, KeepUnknown: o.Keep, Tell: func(note string) { t.Error(note) }}
	if _, err := w.Plan(t.Context(), tree(0, o.Files), o.Dir); err != nil {
		t.Errorf("looking: %v", err)
	}
	w.Close()
	after, err := which(o.Dir, o.Files, 0, 1)
	switch {
	case err != nil:
		t.Errorf("after the repair: %v", err)
	case was && after == missing:
		t.Error("the folder is gone")
	case before != after && before != missing:
		t.Errorf("the repair made tree %d of tree %d", after, before)
	case before != after && !o.Renaming:
		t.Error("there was no folder, although folders can be exchanged")
	case before != after:
		found["put back"]++
	}
	found[map[int]string{missing: "none", 0: "tree 0", 1: "tree 1"}[after]]++
}

// changing are the system calls that change something, and those that open.
var changing = []string{
	"flock", "mkdirat", "openat", "write", "linkat", "renameat", "renameat2", "unlinkat",
	"fchmod", "fchmodat", "fchownat", "utimensat", "ftruncate", "fsync", "close",
}

// few is how many files a folder has that is replaced over and over.
const few = 6

// situations are what a run can find.
var situations = map[string]func(*testing.T, order){
	"no folder": func(*testing.T, order) {},
	"a folder": func(t *testing.T, o order) {
		t.Helper()
		o.Trees = []int{0}
		o.must(t)
	},
	"a folder and what a killed run left": func(t *testing.T, o order) {
		t.Helper()
		o.Trees = []int{0}
		o.must(t)
		o.Trees = []int{1}
		o.inject(t, "linkat", "signal=SIGKILL", 1)
	},
}

// injected is what came of a run to which something was to happen.
type injected struct {
	happened bool
	out      string   // what it printed
	code     int      // its exit code; -1 if it was killed
	held     int      // the tree that the folder held before it
	before   []string // what lay beside the folder before it
}

// inject lets something happen to the nth system call of a name.
func (o order) inject(t *testing.T, call, what string, nth int) injected {
	t.Helper()
	before, trace := beside(t, o.Dir), filepath.Join(t.TempDir(), "trace")
	held, err := which(o.Dir, o.Files, 0)
	if err != nil {
		t.Fatal(err)
	}
	cmd := o.command(t, "strace", "-f", "-qq", "-o", trace,
		"-e", "trace="+call, "-e", "inject="+call+":"+what+":when="+strconv.Itoa(nth))
	cmd.Env = append(cmd.Env, "GOMAXPROCS=1")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	calls, err := os.ReadFile(trace)
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	code := cmd.ProcessState.ExitCode()
	return injected{code == -1 || strings.Contains(string(calls), "(INJECTED)"), string(out), code, held, before}
}

// TestKillEachStep kills a run at every single system call that changes
// something, which random moments do not meet.
func TestKillEachStep(t *testing.T) {
	slow(t)
	eachStep(t, "signal=SIGKILL", slices.Collect(maps.Keys(situations)), func(t *testing.T, o order, got injected) {
		o.look(t, got.held != missing, map[string]int{})
	})
}

// TestFailEachStep lets every single one of them fail. Then nothing was changed,
// or all, and the run says which; and it leaves nothing beside the folder unless
// it says so.
func TestFailEachStep(t *testing.T) {
	slow(t)
	for _, failure := range []string{"EIO", "ENOSPC", "EACCES"} {
		t.Run(failure, func(t *testing.T) {
			eachStep(t, "error="+failure, []string{"a folder", "no folder"}, func(t *testing.T, o order, got injected) {
				out, code := got.out, got.code
				n, err := which(o.Dir, o.Files, 0, 1)
				switch {
				case err != nil:
					t.Error(err)
				case code == 0 && n != 1, code != 0 && n != got.held:
					t.Errorf("it ended with %d, and the folder holds tree %d: %s", code, n, out)
				case code != 0 && strings.Count(out, "\n") != 1+strings.Count(out, "note: "):
					t.Errorf("want one line, got %s", out)
				}
				left := slices.DeleteFunc(beside(t, o.Dir), func(name string) bool { return slices.Contains(got.before, name) })
				if len(left) > 0 && !strings.Contains(out, "note: ") {
					t.Errorf("it left %v without a word: %s", left, out)
				}
			})
		})
	}
}

// eachStep lets something happen at one step after the other, until a run has
// come to its end without it, and looks each time.
func eachStep(t *testing.T, what string, found []string, look func(*testing.T, order, injected)) {
	t.Helper()
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("strace is not installed")
	}
	for way, renaming := range ways {
		for _, name := range found {
			t.Run(way+" with "+name, func(t *testing.T) {
				counts := map[string]int{}
				for _, call := range changing {
					for eachTime(t, order{Files: few, Trees: []int{1}, Renaming: renaming}, situations[name], call, what, counts[call]+1, look) {
						counts[call]++
					}
				}
				t.Log(counts)
			})
		}
	}
}

// eachTime lets it happen to one system call, and tells whether there was one.
func eachTime(t *testing.T, o order, situation func(*testing.T, order), call, what string, nth int, look func(*testing.T, order, injected)) bool {
	t.Helper()
	base := filepath.Join(t.TempDir(), "base")
	if err := os.Mkdir(base, 0o755); err != nil {
		t.Fatal(err)
	}
	o.Dir = filepath.Join(base, "bundle")
	situation(t, o)
	got := o.inject(t, call, what, nth)
	look(t, o, got)
	o.must(t)
	is(t, o.Dir, o.Files, 1)
	if t.Failed() {
		t.Fatalf("%s %d: %s", call, nth, got.out)
	}
	if err := os.RemoveAll(base); err != nil {
		t.Fatal(err)
	}
	return got.happened
}

// TestInterrupt ends runs as Ctrl-C does: they leave nothing, and need no repair.
func TestInterrupt(t *testing.T) {
	slow(t)
	for way, renaming := range ways {
		t.Run(way, func(t *testing.T) {
			o := order{Dir: filepath.Join(t.TempDir(), "bundle"), Files: many, Trees: []int{1, 0}, Renaming: renaming}
			o.must(t)
			o.Rounds = math.MaxInt
			for range 25 {
				cmd := o.command(t)
				var words strings.Builder
				cmd.Stderr = &words
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				time.Sleep(100*time.Millisecond + time.Duration(rand.Int64N(int64(400*time.Millisecond))))
				if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
					t.Fatal(err)
				}
				if err := cmd.Wait(); err == nil || !strings.Contains(words.String(), "interrupted") || strings.Count(words.String(), "\n") != 1 {
					t.Errorf("%v: %s", err, words.String())
				}
				is(t, o.Dir, o.Files, 0, 1)
			}
		})
	}
}
