package pages

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

// lane is a command that a test cannot run, because it would run itself, or for
// many minutes. The test sees that Make knows the lane.
var lane = regexp.MustCompile(`^make [a-z][a-z -]*$`)

// building is a command that makes one program.
var building = regexp.MustCompile(`^go build -o (/tmp/\S+) (\./\S+)$`)

// Reader does as told, in a copy of the repository and a /tmp of its own.
type Reader struct {
	copy, tmp string

	// Environment is what the reader's shell has besides our own.
	Environment []string
}

// NewReader returns a reader, whose files go when the test ends. Where the copy is in the folder of a reader
// before, Go has compiled already what nobody changed.
func NewReader(t testing.TB, folder string) *Reader {
	t.Helper()
	repo.Copy(t, folder)
	return &Reader{copy: folder, tmp: t.TempDir()}
}

// Follow does what a step says. The command must print what the page says it does.
func (r Reader) Follow(t testing.TB, s Step) {
	t.Helper()
	if s.File != "" {
		r.create(t, s)
		return
	}
	if lane.MatchString(s.Command) {
		r.Run(t, strings.Replace(s.Command, "make", "make -n", 1))
		return
	}
	defer r.keep(t, s.Command)()
	out := r.Run(t, s.Command)
	if len(s.Lines) > 0 && !matches(s.Lines, strings.Split(strings.TrimSuffix(out, "\n"), "\n")) {
		t.Errorf("$ %s\nprints:\n%s\nthe documentation says:\n%s", s.Command, out, strings.Join(s.Lines, "\n"))
	}
}

// keep gives a command that makes a program the one that a reader before made in the same folder, and keeps
// what comes of it for the next: Go takes seconds to link it, and leaves one alone that is what it would make.
func (r Reader) keep(t testing.TB, command string) (after func()) {
	t.Helper()
	m := building.FindStringSubmatch(command)
	if m == nil {
		return func() {}
	}
	made, kept := r.Private(m[1]), r.copy+".programs/"+filepath.Base(m[2])
	if err := repo.CopyFile(kept, made); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return func() {
		if err := repo.CopyFile(made, kept); err != nil {
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
	if there, err := os.ReadFile(path); err == nil && string(there) != text {
		t.Errorf("%s is shown as\n%s\nbut holds\n%s", s.File, text, there)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Run returns what a command prints on both streams; the command must succeed.
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

// Private replaces /tmp, so that readers do not disturb each other.
func (r Reader) Private(text string) string { return strings.ReplaceAll(text, "/tmp", r.tmp) }

// matches compares lines with a pattern in which "..." stands for any number of lines.
func matches(pattern, lines []string) bool {
	if len(pattern) == 0 {
		return len(lines) == 0
	}
	if strings.TrimSpace(pattern[0]) == "..." {
		for skip := 0; skip <= len(lines); skip++ {
			if matches(pattern[1:], lines[skip:]) {
				return true
			}
		}
		return false
	}
	return len(lines) > 0 && strings.TrimRight(lines[0], " ") == strings.TrimRight(pattern[0], " ") && matches(pattern[1:], lines[1:])
}
