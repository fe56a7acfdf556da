package controlplane

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/trainyard/trainyard/test/repo"
)

// toolbox knows where the built binaries and the upstream modules are.
type toolbox struct {
	bin     string // .tools/bin
	modules string // the tools folder that pins Trainer and JobSet
}

// findTools finds the tools of a version of Trainer, named by its folder below tools/.
func findTools(trainer string) (toolbox, error) {
	root, err := repo.Root()
	if err != nil {
		return toolbox{}, err
	}
	tools := toolbox{bin: filepath.Join(root, ".tools", "bin"), modules: filepath.Join(root, "tools", trainer)}
	needed := []string{filepath.Join(tools.bin, "etcd"), filepath.Join(tools.bin, "kube-apiserver"), tools.kustomize()}
	for _, m := range managers {
		needed = append(needed, tools.manager(m.name))
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

// module is the folder of an upstream module in the Go module cache.
func (t toolbox) module(path string) (string, error) {
	cmd := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", path)
	cmd.Dir = t.modules
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := output(cmd)
	if err != nil {
		return "", fmt.Errorf("finding module %s: %w", path, err)
	}
	if dir := strings.TrimSpace(string(out)); dir != "" {
		return dir, nil
	}
	return "", fmt.Errorf("finding module %s: not in the module cache: run `make tools`", path)
}

// output runs cmd; when it fails, the error carries what it wrote to stderr.
func output(cmd *exec.Cmd) ([]byte, error) {
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return nil, fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	return out, err
}
