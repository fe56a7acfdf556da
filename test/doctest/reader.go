package doctest

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/trainyard/trainyard/test/repo"
)

// makeTarget matches make commands. A Reader does not run make commands, because these commands would start the same
// test again or take many minutes. Instead of running a make command, the Reader checks that the make target exists.
var makeTarget = regexp.MustCompile(`^make [a-z][a-z -]*$`)

// goBuild matches commands that build one program of this repository into /tmp.
var goBuild = regexp.MustCompile(`^go build -o (/tmp/\S+) (\./\S+)$`)

// Reader runs steps in a copy of the repository, with a private /tmp.
type Reader struct {
	copy, tmp string

	// Environment contains additional environment variables for commands.
	Environment []string
}

// NewReader copies the repository to the given folder, and returns a reader that runs steps in this copy. NewReader
// removes the copy when the test ends. If several Readers use the same folder, they can reuse Go's build cache for
// unchanged packages.
func NewReader(t testing.TB, folder string) *Reader {
	t.Helper()
	repo.Copy(t, folder)
	return &Reader{copy: folder, tmp: t.TempDir()}
}

// Follow creates the file of a step, or runs the command of a step and checks that the command prints the
// expected output. If the command is a make command, Follow only checks that the make target exists.
func (r Reader) Follow(t testing.TB, s Step) {
	t.Helper()
	if s.File != "" {
		r.create(t, s)
		return
	}
	if makeTarget.MatchString(s.Command) {
		r.Run(t, strings.Replace(s.Command, "make", "make -n", 1))
		return
	}
	defer r.reuseProgram(t, s.Command)()
	out := r.Run(t, s.Command)
	if len(s.Lines) > 0 && !matchLines(s.Lines, strings.Split(strings.TrimSuffix(out, "\n"), "\n")) {
		t.Errorf("$ %s\nprints:\n%s\nwant, as documented:\n%s", s.Command, out, strings.Join(s.Lines, "\n"))
	}
}

// reuseProgram makes the command "go build" faster. If an earlier Reader built the same program, reuseProgram copies
// this program to the output path of the command. Copying the program saves seconds, because Go does not link a
// program again if the output path contains an up-to-date program. The returned function saves the program that the
// command has built, so that later Readers can reuse the program.
func (r Reader) reuseProgram(t testing.TB, command string) (after func()) {
	t.Helper()
	m := goBuild.FindStringSubmatch(command)
	if m == nil {
		return func() {}
	}
	built, saved := r.Private(m[1]), r.copy+".programs/"+filepath.Base(m[2])
	if err := repo.CopyFile(saved, built); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return func() {
		if err := repo.CopyFile(built, saved); err != nil {
			t.Error(err)
		}
	}
}

func (r Reader) create(t testing.TB, s Step) {
	t.Helper()
	path := r.Private(s.File)
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.copy, path)
	}
	text := strings.Join(s.Lines, "\n") + "\n"
	if existing, err := os.ReadFile(path); err == nil && string(existing) != text {
		t.Errorf("the page shows %s as\n%s\nbut the file contains\n%s", s.File, text, existing)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Run runs a command, which must succeed, and returns its output and error output.
func (r Reader) Run(t testing.TB, command string) string {
	t.Helper()
	cmd := exec.Command("bash", "-euo", "pipefail", "-c", r.Private(command))
	cmd.Dir = r.copy
	cmd.Env = append(os.Environ(), r.Environment...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("$ %s: %v\n%s", command, err, out)
	}
	return strings.ReplaceAll(string(out), r.tmp, "/tmp")
}

// Private replaces /tmp in a text with the Reader's own folder, so that several Readers can run at the same time.
func (r Reader) Private(text string) string { return strings.ReplaceAll(text, "/tmp", r.tmp) }

// matchLines reports whether lines match a pattern, in which "..." matches any number of lines.
func matchLines(pattern, lines []string) bool {
	if len(pattern) == 0 {
		return len(lines) == 0
	}
	if strings.TrimSpace(pattern[0]) == "..." {
		for skip := 0; skip <= len(lines); skip++ {
			if matchLines(pattern[1:], lines[skip:]) {
				return true
			}
		}
		return false
	}
	return len(lines) > 0 && strings.TrimRight(lines[0], " ") == strings.TrimRight(pattern[0], " ") && matchLines(pattern[1:], lines[1:])
}
