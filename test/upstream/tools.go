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

// Toolbox locates the programs that tools/ builds, and the upstream modules that tools/ pins.
type Toolbox struct {
	bin     string // the path of .tools/bin
	modules string // the folder below tools/ that pins the upstream modules
}

// Tools returns a Toolbox for a folder below tools/, such as "trainer-2.3".
func Tools(folder string) (Toolbox, error) {
	root, err := repo.Root()
	if err != nil {
		return Toolbox{}, err
	}
	return Toolbox{bin: filepath.Join(root, ".tools", "bin"), modules: filepath.Join(root, "tools", folder)}, nil
}

// Path returns the path of a built program, such as kubectl or kustomize.
func (t Toolbox) Path(name string) string { return filepath.Join(t.bin, name) }

// ManagerPath returns the path of a manager's program. Each version of a manager has its own folder.
func (t Toolbox) ManagerPath(m Manager) string {
	return filepath.Join(t.bin, filepath.Base(t.modules), m.Name)
}

// RequireBuilt fails if one of the programs has not been built. The argument "target" is the make target that builds
// the programs.
func RequireBuilt(target string, paths ...string) error {
	for _, path := range paths {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s is missing: run `make %s`", path, target)
		}
	}
	return nil
}

// Module returns the folder of an upstream module in the Go module cache. If the module is missing, for example
// because the cache was emptied after `make tools`, Module downloads it.
func (t Toolbox) Module(path string) (string, error) {
	cmd := exec.Command("go", "mod", "download", "-json", path)
	cmd.Dir = t.modules
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := commandOutput(cmd)
	var found struct{ Dir, Error string } // the go command prints the fields Dir and Error to standard output
	if err := errors.Join(err, json.Unmarshal(out, &found)); err != nil {
		return "", fmt.Errorf("finding module %s: %w%s", path, err, found.Error)
	}
	return found.Dir, nil
}

// ModuleFolder returns the folder of an upstream module in the Go module cache. The argument "tools" is the folder below
// tools/ that pins the version of the module.
func ModuleFolder(tools, path string) (string, error) {
	t, err := Tools(tools)
	if err != nil {
		return "", err
	}
	return t.Module(path)
}

// commandOutput runs a command and returns its standard output. If the command fails, the returned error contains the
// text that the command wrote to standard error.
func commandOutput(cmd *exec.Cmd) ([]byte, error) {
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return out, fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	return out, err
}
