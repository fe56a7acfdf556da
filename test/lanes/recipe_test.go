package lanes

import (
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/test/repo"
)

// TestRecipe checks the recipe that the function "recipe" returns for a make target. The recipe must contain the rule
// of the target. If this rule calls $(MAKE) for a second target, the recipe must also contain the rule of the second
// target. The recipe must also contain the definitions of the variables that these rules use.
func TestRecipe(t *testing.T) {
	const (
		fuzz    = "fuzz: tools ## Fuzz\n\t$(LANE) fuzz $(MAKE) -s --no-print-directory fuzz-targets\n"
		targets = "fuzz-targets:\n\tgo test $(FUZZ)\n"
		lane    = "LANE := go run .\n"
		list    = "FUZZ := $(A) \\\n  b\n"
		a       = "A ?= a\n"
		other   = "B := b\n\nfuzzy:\n\tother $(B)\n"
	)
	makefile := strings.Join([]string{lane, other, list, a, fuzz, targets}, "\n")
	if diff := cmp.Diff(fuzz+targets+lane+list+a, recipe(makefile, "fuzz")); diff != "" {
		t.Errorf("recipe: -want +got:\n%s", diff)
	}
	if got := recipe(makefile, "missing"); got != "" {
		t.Errorf("the recipe of a missing target is %q", got)
	}
}

func TestChangedRecipeMakesALaneStale(t *testing.T) {
	r, lane := newRepository(t), Lane{Name: "e2e", Inputs: []string{"a"}}
	for _, step := range []struct {
		makefile string
		run      bool // whether the lane runs after the change
		stale    bool
	}{
		{"e2e:\n\tgo test -run A\n\nsdk:\n\tgo test\n", true, false},
		{"e2e:\n\tgo test -run A\n\nsdk:\n\tgo test -short\n", false, false},
		{"e2e:\n\tgo test -run B\n\nsdk:\n\tgo test\n", false, true},
	} {
		write(t, r, "Makefile", step.makefile)
		commit(t, r)
		if step.run {
			if err := r.Run(t.Context(), lane, []string{"true"}); err != nil {
				t.Fatal(err)
			}
		}
		if got := isStale(t, r, lane); got != step.stale {
			t.Errorf("after the change to %q, the lane is stale: %t, want %t", step.makefile, got, step.stale)
		}
	}
}

var (
	selectionPattern = regexp.MustCompile(`-(run|bench) '?([^' ]+)'?`)
	testPattern      = regexp.MustCompile(`(?m)^func ((?:Test|Benchmark)\w+)\(`)
)

// TestLanesSelectExistingTests checks the patterns after the flags -run and -bench in the Makefile's commands for
// lanes. The pattern after -run selects tests, and the pattern after -bench selects benchmarks. A pattern such as
// TestA|TestB has two parts, which are separated by |. Each part of a pattern must match a test or benchmark in the
// folders that the command tests. If a part contains a slash, the test checks only the text before the slash. Only the
// pattern ^$, which selects no tests, may match nothing. If a pattern matches no test, `go test` succeeds without
// running a test. Without this check, a lane could therefore pass although a test was renamed and no longer runs.
func TestLanesSelectExistingTests(t *testing.T) {
	makefile := read(t, "Makefile")
	names := map[string][]string{} // by folder
	for _, file := range repo.Files(t) {
		if strings.HasSuffix(file, "_test.go") {
			for _, m := range testPattern.FindAllStringSubmatch(read(t, file), -1) {
				names[path.Dir(file)] = append(names[path.Dir(file)], m[1])
			}
		}
	}
	selections := 0
	for _, line := range lanePattern.FindAllStringSubmatch(makefile, -1) {
		command := expand(makefile, line[2])
		folders := packagePattern.FindAllStringSubmatch(command, -1)
		for _, selection := range selectionPattern.FindAllStringSubmatch(command, -1) {
			if selection[2] == "^$" { // a benchmark runs no tests
				continue
			}
			for alternative := range strings.SplitSeq(selection[2], "|") {
				selections++
				test, _, _ := strings.Cut(alternative, "/")
				if !selects(test, folders, names) {
					t.Errorf("lane %s: -%s %s selects nothing", line[1], selection[1], alternative)
				}
			}
		}
	}
	if selections < 8 {
		t.Errorf("the Makefile has %d selections, want at least 8", selections)
	}
}

func expand(makefile, command string) string {
	command = variablePattern.ReplaceAllStringFunc(command, func(use string) string {
		definition := strings.Join(variables(makefile, use, map[string]bool{}), "")
		_, value, _ := strings.Cut(definition, "= ")
		return strings.TrimSpace(value)
	})
	return strings.ReplaceAll(command, "$$", "$")
}

func selects(pattern string, folders [][]string, names map[string][]string) bool {
	matches := regexp.MustCompile(pattern).MatchString
	for _, folder := range folders {
		for _, name := range names[folder[1]] {
			if matches(name) {
				return true
			}
		}
	}
	return false
}

// TestSkippedSuitesArePrinted checks that `make test-suites` prints each suite in the variable LANE_SUITES of the
// Makefile, together with the command that runs the suite. `make test` skips the suites in LANE_SUITES. `make
// test-suites` also calls the program `go`. The test replaces this program with an empty script.
func TestSkippedSuitesArePrinted(t *testing.T) {
	got, err := runWithPrograms(t, repo.Path(t), map[string]string{"go": ""}, "make", "-s", "test-suites")
	if err != nil {
		t.Fatalf("%v: %s", err, got)
	}
	for folder, lanes := range readLaneSuites(t, read(t, "Makefile")) {
		for _, lane := range lanes {
			if want := "SKIP\t./" + folder + ": run make " + lane + "\n"; !strings.Contains(got, want) {
				t.Errorf("the output of `make test-suites` lacks %q", want)
			}
		}
	}
}
