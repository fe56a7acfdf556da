package krm

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard/test/repo"
)

// With the flags in the variable "allowed", `kustomize build` runs functions that are local programs. With the
// flags in the variable noExec, kustomize runs no local programs.
var (
	allowed = []string{"--enable-alpha-plugins", "--enable-exec"}
	noExec  = []string{"--enable-alpha-plugins"}
)

type workspace struct{ dir, trainyard, path string }

func newWorkspace(t *testing.T) workspace {
	t.Helper()
	programs, err := compilePrograms()
	if err != nil {
		t.Fatal(err)
	}
	return workspace{dir: t.TempDir(), trainyard: filepath.Join(programs, "trainyard"), path: programs}
}

// programFolder is the folder of the compiled programs, or empty if no test has compiled them. TestMain removes the
// folder after the tests.
var programFolder string

func TestMain(m *testing.M) {
	code := m.Run()
	if programFolder != "" {
		_ = os.RemoveAll(programFolder) // after an error, only a temporary folder remains
	}
	os.Exit(code)
}

var compilePrograms = sync.OnceValues(func() (dir string, err error) {
	if programFolder, err = os.MkdirTemp("", "trainyard-krm-"); err != nil {
		return "", err
	}
	return programFolder, errors.Join(
		repo.Compile("trainyard", filepath.Join(programFolder, "trainyard")),
		repo.Compile("trainyard-fn", filepath.Join(programFolder, "trainyard-fn")))
})

func (w workspace) emptyWorkspace(t *testing.T) workspace {
	t.Helper()
	w.dir = t.TempDir()
	return w
}

func (w workspace) write(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join(w.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (w workspace) runBuild(t *testing.T, folder string, flags ...string) ([]byte, error) {
	t.Helper()
	cmd := exec.Command(repo.Tool(t, "kustomize"), append([]string{"build", filepath.Join(w.dir, folder)}, flags...)...)
	cmd.Env = append(os.Environ(), "PATH="+w.path+string(os.PathListSeparator)+os.Getenv("PATH"))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = errors.New(stderr.String())
	}
	return out, err
}

func (w workspace) run(t *testing.T, program string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(program, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, stderr.String())
	}
	return out
}

func objectsByName(t *testing.T, stream []byte) map[string]any {
	t.Helper()
	found := map[string]any{}
	for text := range strings.SplitSeq("\n"+string(stream), "\n---\n") {
		var o map[string]any
		if err := yaml.Unmarshal([]byte(text), &o); err != nil {
			t.Fatal(err)
		}
		if o == nil {
			continue
		}
		metadata, _ := o["metadata"].(map[string]any)
		namespace, _ := metadata["namespace"].(string)
		name, _ := metadata["name"].(string)
		kind, _ := o["kind"].(string)
		found[kind+" "+namespace+"/"+name] = o
	}
	return found
}
