package controlplane

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

// toolbox knows where the built binaries and the upstream modules are.
type toolbox struct {
	bin     string // .tools/bin
	modules string // the tools folder that pins Trainer and JobSet
}

// findTools finds the tools of a version of Trainer, named by its folder below tools/.
func findTools(o options) (toolbox, error) {
	root, err := repo.Root()
	if err != nil {
		return toolbox{}, err
	}
	tools := toolbox{bin: filepath.Join(root, ".tools", "bin"), modules: filepath.Join(root, "tools", o.trainer)}
	needed := []string{filepath.Join(tools.bin, "etcd"), filepath.Join(tools.bin, "kube-apiserver"), tools.kustomize()}
	for _, m := range o.upstream() {
		if !o.crdsOnly {
			needed = append(needed, tools.manager(m.name))
		}
	}
	for _, path := range needed {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return toolbox{}, fmt.Errorf("%s is missing: run `make tools`", path)
		}
	}
	return tools, nil
}

func (t toolbox) kustomize() string { return filepath.Join(t.bin, "kustomize") }

// manager is the binary of an upstream controller. Versions live side by side.
func (t toolbox) manager(name string) string {
	return filepath.Join(t.bin, filepath.Base(t.modules), name)
}

// module is the folder of an upstream module in the Go module cache. The module is downloaded
// if it is not there, so that a cache may be emptied after `make tools`.
func (t toolbox) module(path string) (string, error) {
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
