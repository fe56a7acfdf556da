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

const manyFiles = 3000

// swapMethods contains the two methods by which a writer replaces the old folder by the new folder. With "exchange",
// the writer exchanges the folders in one atomic step. With "rename", the writer renames the old folder first, and then
// the new folder. A writer uses "rename" only if atomic exchanges are not supported. For each method, the map contains
// true or false. The tests copy this value to the field Renaming of the struct "order". If Renaming is true, the child
// process forbids atomic exchanges, and therefore uses the method "rename".
var swapMethods = map[string]bool{"exchange": false, "rename": true}

// killCount is the number of processes that TestKill kills for each entry of swapMethods.
const killCount = 200

// TestKill kills processes at random moments while they write a folder, and checks that the folder can be recovered.
func TestKill(t *testing.T) {
	skipUnlessRequested(t)
	for swap, renaming := range swapMethods {
		t.Run(swap, func(t *testing.T) {
			found := map[string]int{}
			o := order{Dir: filepath.Join(t.TempDir(), "bundle"), Files: manyFiles, Trees: []int{1, 0}, Renaming: renaming}
			o.mustRun(t)
			for range killCount {
				o.killWriter(t, found)
				if t.Failed() {
					return
				}
			}
			t.Logf("%d kills: %v", killCount, found)
		})
	}
}

// killWriter kills one process that writes a folder, and checks the recovery of the folder. It then writes
// the folder once more, which must succeed.
func (o order) killWriter(t *testing.T, found map[string]int) {
	t.Helper()
	endless := o
	endless.Rounds = math.MaxInt
	cmd := endless.childCommand(t)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Duration(rand.Int64N(int64(600 * time.Millisecond))))
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // fails, because the process was killed
	o.checkRecovery(t, true, found)
	last := o
	last.Trees = []int{0}
	last.mustRun(t)
	expectTree(t, o.Dir, o.Files, 0)
}

// checkRecovery recovers a folder as `trainyard generate --check` does, and checks the folder before and after the
// recovery. In the map "found", checkRecovery counts how often each outcome occurs.
func (o order) checkRecovery(t *testing.T, existed bool, found map[string]int) {
	t.Helper()
	before, err := findTree(o.Dir, o.Files, 0, 1)
	if err != nil {
		t.Errorf("before recovery: %v", err)
	}
	if left := listSiblings(t, o.Dir); len(left) > 0 {
		found["left a staging folder"]++
	}
	w := &bundles.Writer{ReadOnly: true, KeepUnknown: o.Keep, Note: func(note string) { t.Error(note) }}
	if _, err := w.Plan(t.Context(), newTree(0, o.Files), o.Dir); err != nil {
		t.Errorf("recovery: %v", err)
	}
	w.Close()
	after, err := findTree(o.Dir, o.Files, 0, 1)
	switch {
	case err != nil:
		t.Errorf("after recovery: %v", err)
	case existed && after == noFolder:
		t.Error("the folder is gone")
	case before != after && before != noFolder:
		t.Errorf("recovery changed the folder to tree %d from tree %d", after, before)
	case before != after && !o.Renaming:
		t.Error("the folder was missing in spite of atomic exchanges")
	case before != after:
		found["recovered"]++
	}
	found[map[int]string{noFolder: "none", 0: "tree 0", 1: "tree 1"}[after]]++
}

var changingCalls = []string{
	"flock", "mkdirat", "openat", "write", "linkat", "renameat", "renameat2", "unlinkat",
	"fchmod", "fchmodat", "ftruncate", "close",
}

// fewFiles is the number of generated files in a small bundle. Tests such as TestKillEachStep write very many bundles.
// These bundles are small, so that the tests take less time.
const fewFiles = 6

// startSituations contains functions that prepare the folder of a bundle before a process writes
// the bundle. One of these functions also leaves a staging folder next to the bundle.
var startSituations = map[string]func(*testing.T, order){
	"no folder": func(*testing.T, order) {},
	"a folder": func(t *testing.T, o order) {
		t.Helper()
		o.Trees = []int{0}
		o.mustRun(t)
	},
	"a folder and a stale staging folder": func(t *testing.T, o order) {
		t.Helper()
		o.Trees = []int{0}
		o.mustRun(t)
		o.Trees = []int{1}
		o.inject(t, "linkat", "signal=SIGKILL", 1)
	},
}

// injectedOutcome is the outcome of a process into which strace injected a signal or an error.
type injectedOutcome struct {
	happened bool
	out      string   // output of the process
	code     int      // exit code of the process, or -1 if the process was killed
	held     int      // number of the tree that was in the folder before the process started
	before   []string // files that were next to the folder before the process started
}

// inject runs a child process under strace, which injects a signal or an error into the nth system call with the given
// name.
func (o order) inject(t *testing.T, call, what string, nth int) injectedOutcome {
	t.Helper()
	before, trace := listSiblings(t, o.Dir), filepath.Join(t.TempDir(), "trace")
	held, err := findTree(o.Dir, o.Files, 0)
	if err != nil {
		t.Fatal(err)
	}
	cmd := o.childCommand(t, "strace", "-f", "-qq", "-o", trace,
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
	return injectedOutcome{code == -1 || strings.Contains(string(calls), "(INJECTED)"), string(out), code, held, before}
}

// TestKillEachStep repeats the write of a folder, each time in a new process. During the write, the process makes many
// system calls whose names are in changingCalls, such as openat. In each repetition, TestKillEachStep kills the process
// at another of these calls, until all of them are tested. TestKill kills processes at random moments, so it misses
// most of the system calls that TestKillEachStep tests.
func TestKillEachStep(t *testing.T) {
	skipUnlessRequested(t)
	eachStep(t, "signal=SIGKILL", slices.Collect(maps.Keys(startSituations)), func(t *testing.T, o order, got injectedOutcome) {
		o.checkRecovery(t, got.held != noFolder, map[string]int{})
	})
}

// TestFailEachStep repeats the write of a folder, each time in a new process. During the write, the process makes many
// system calls whose names are in changingCalls, such as openat. In each repetition, TestFailEachStep injects an error
// into one of these calls. The repetitions continue until each call has failed once. The exit code of the process must
// show whether the process changed the folder. The process must print a note if a staging folder remains.
func TestFailEachStep(t *testing.T) {
	skipUnlessRequested(t)
	for _, failure := range []string{"EIO", "ENOSPC", "EACCES"} {
		t.Run(failure, func(t *testing.T) {
			eachStep(t, "error="+failure, []string{"a folder", "no folder"}, func(t *testing.T, o order, got injectedOutcome) {
				out, code := got.out, got.code
				n, err := findTree(o.Dir, o.Files, 0, 1)
				switch {
				case err != nil:
					t.Error(err)
				case code == 0 && n != 1, code != 0 && n != got.held:
					t.Errorf("it ended with %d, and the folder holds tree %d: %s", code, n, out)
				case code != 0 && strings.Count(out, "\n") != 1+strings.Count(out, "note: "):
					t.Errorf("want one line, got %s", out)
				}
				left := slices.DeleteFunc(listSiblings(t, o.Dir), func(name string) bool { return slices.Contains(got.before, name) })
				if len(left) > 0 && !strings.Contains(out, "note: ") {
					t.Errorf("it left %v without a note: %s", left, out)
				}
			})
		})
	}
}

// eachStep tests each swap method with several start situations (see startSituations). The argument "found" contains
// the names of these start situations. For each system call in changingCalls, eachStep runs several processes one after
// the other. Each process writes the folder in one thread. strace counts how often this thread makes the system call,
// and begins again at 1 in each process. In the first process, strace injects a signal or an error at the first call.
// In the second process, strace injects the same signal or error at the second call, and so on. The argument "what"
// names the signal or the error. If the nth process makes the system call fewer than n times, strace injects nothing.
// eachStep then continues with the next system call in changingCalls. After each process, eachStep calls the function
// "check".
func eachStep(t *testing.T, what string, found []string, check func(*testing.T, order, injectedOutcome)) {
	t.Helper()
	if _, err := exec.LookPath("strace"); err != nil {
		t.Fatal("strace is not installed: run `make crash-packages`")
	}
	for swap, renaming := range swapMethods {
		for _, name := range found {
			t.Run(swap+" with "+name, func(t *testing.T) {
				counts := map[string]int{}
				for _, call := range changingCalls {
					for eachTime(t, order{Files: fewFiles, Trees: []int{1}, Renaming: renaming}, startSituations[name], call, what, counts[call]+1, check) {
						counts[call]++
					}
				}
				t.Log(counts)
			})
		}
	}
}

// eachTime runs one process under strace. The argument "call" is the name of a system call. When the process makes this
// system call for the nth time, strace injects a signal or an error. The argument "what" names the signal or the error.
// When the process has ended, eachTime calls the function "check". If the process makes the system call fewer than n
// times, eachTime returns false.
func eachTime(t *testing.T, o order, situation func(*testing.T, order), call, what string, nth int, check func(*testing.T, order, injectedOutcome)) bool {
	t.Helper()
	base := filepath.Join(t.TempDir(), "base")
	if err := os.Mkdir(base, 0o755); err != nil {
		t.Fatal(err)
	}
	o.Dir = filepath.Join(base, "bundle")
	situation(t, o)
	got := o.inject(t, call, what, nth)
	check(t, o, got)
	o.mustRun(t)
	expectTree(t, o.Dir, o.Files, 1)
	if t.Failed() {
		t.Fatalf("%s %d: %s", call, nth, got.out)
	}
	if err := os.RemoveAll(base); err != nil {
		t.Fatal(err)
	}
	return got.happened
}

// TestInterrupt interrupts processes with SIGINT, the signal of Ctrl-C. An interrupted process must leave a complete
// folder, and no files next to the folder.
func TestInterrupt(t *testing.T) {
	skipUnlessRequested(t)
	for swap, renaming := range swapMethods {
		t.Run(swap, func(t *testing.T) {
			o := order{Dir: filepath.Join(t.TempDir(), "bundle"), Files: manyFiles, Trees: []int{1, 0}, Renaming: renaming}
			o.mustRun(t)
			o.Rounds = math.MaxInt
			for range 25 {
				cmd := o.childCommand(t)
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
				expectTree(t, o.Dir, o.Files, 0, 1)
			}
		})
	}
}
