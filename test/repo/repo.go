// Package repo finds files of this repository for tests. The functions of this package work for tests in
// any folder of the repository.
package repo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Root returns the folder of the repository, which is the current folder or one of its parents.
func Root() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the repository: %w", err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "tools", "tools.mk")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("finding the repository: no tools/tools.mk at or above %s", start)
		}
	}
}

// Path returns the path of a file or folder of the repository.
func Path(t testing.TB, elements ...string) string {
	t.Helper()
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(append([]string{root}, elements...)...)
}

// Tool returns the path of a program that `make tools` builds, such as kustomize.
func Tool(t testing.TB, name string) string {
	t.Helper()
	path := Path(t, ".tools", "bin", name)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("%s is missing: run `make tools`", path)
	}
	return path
}

// Files lists the files that Git tracks, and untracked files that Git does not ignore. Paths are relative to the
// repository and contain slashes.
func Files(t testing.TB) []string {
	t.Helper()
	cmd := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard", "-z")
	cmd.Dir = Path(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("listing files of the repository: %v", err)
	}
	var files []string
	for _, file := range strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if _, err := os.Lstat(filepath.Join(cmd.Dir, file)); err == nil {
			files = append(files, file)
		}
	}
	return files
}

// Copy copies the files of the repository into a new repository in the folder "dir". Copy removes the folder "dir"
// when the test ends.
func Copy(t testing.TB, dir string) {
	t.Helper()
	root := Path(t)
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("removing the copy of the repository: %v", err)
		}
	})
	for _, file := range Files(t) {
		if err := CopyFile(filepath.Join(root, file), filepath.Join(dir, file)); err != nil {
			t.Fatalf("copying the repository: %v", err)
		}
	}
	cmd := exec.Command("git", "init", "-q")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("initializing the copy as a repository: %v\n%s", err, out)
	}
}

// CopyFile copies a file, and creates the parent folders of the copy.
func CopyFile(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, content, info.Mode().Perm())
}

// Build compiles the trainyard command and returns the program's path.
func Build(t testing.TB) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "trainyard")
	if err := Compile("trainyard", program); err != nil {
		t.Fatal(err)
	}
	return program
}

// Compile builds a program from a folder in cmd/. Compile calls `go run` with the flag `-exec cp`, which copies the
// program and does not run it. `go run` links an unchanged program only once, because Go caches the linked program. `go
// build` would link the program each time, which takes seconds.
func Compile(command, program string) error {
	root, err := Root()
	if err != nil {
		return err
	}
	cmd := exec.Command("go", "run", "-exec", "cp", "./cmd/"+command, program)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("compiling %s: %w\n%s", command, err, out)
	}
	return nil
}
