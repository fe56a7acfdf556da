package upstream

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/trainyard/trainyard/test/repo"
)

// Toolbox knows where the built binaries and the upstream modules are.
type Toolbox struct {
	bin     string // .tools/bin
	modules string // the tools folder that pins Trainer and JobSet
}

// Tools finds the tools of a version of Trainer, named by its folder below tools/, such as
// "trainer-2.3".
func Tools(trainer string) (Toolbox, error) {
	root, err := repo.Root()
	if err != nil {
		return Toolbox{}, err
	}
	return Toolbox{bin: filepath.Join(root, ".tools", "bin"), modules: filepath.Join(root, "tools", trainer)}, nil
}

// Path is that of a built tool, such as kubectl or kustomize.
func (t Toolbox) Path(name string) string { return filepath.Join(t.bin, name) }

// ManagerPath is the binary of an upstream controller. Versions live side by side.
func (t Toolbox) ManagerPath(m Manager) string {
	return filepath.Join(t.bin, filepath.Base(t.modules), m.Name)
}

// Need fails when one of some programs has not been built; target is what makes it.
func Need(target string, paths ...string) error {
	for _, path := range paths {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s is missing: run `make %s`", path, target)
		}
	}
	return nil
}

// module is the folder of an upstream module in the Go module cache. The module is downloaded
// if it is not there, so that a cache may be emptied after `make tools`.
func (t Toolbox) module(path string) (string, error) {
	cmd := exec.Command("go", "mod", "download", "-json", path)
	cmd.Dir = t.modules
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := output(cmd)
	var found struct{ Dir, Error string } // go says both on stdout
	if err := errors.Join(err, json.Unmarshal(out, &found)); err != nil {
		return "", fmt.Errorf("finding module %s: %w%s", path, err, found.Error)
	}
	return found.Dir, nil
}

// output runs cmd; when it fails, the error carries what it wrote to stderr.
func output(cmd *exec.Cmd) ([]byte, error) {
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return out, fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	return out, err
}
