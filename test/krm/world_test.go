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

// Flags of kustomize build, which decide whether it runs functions.
var (
	allowed = []string{"--enable-alpha-plugins", "--enable-exec"}
	noExec  = []string{"--enable-alpha-plugins"}
)

// world is a folder of kustomizations, and the programs.
type world struct{ dir, trainyard, path string }

func newWorld(t *testing.T) world {
	t.Helper()
	programs, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return world{dir: t.TempDir(), trainyard: filepath.Join(programs, "trainyard"), path: programs}
}

// programs is the folder that build makes, for as long as tests run.
var programs string

func TestMain(m *testing.M) {
	code := m.Run()
	if programs != "" {
		_ = os.RemoveAll(programs) // what is left is in a folder for what is left
	}
	os.Exit(code)
}

// build makes the programs, once for all tests.
var build = sync.OnceValues(func() (dir string, err error) {
	if programs, err = os.MkdirTemp("", "trainyard-krm-"); err != nil {
		return "", err
	}
	return programs, errors.Join(
		repo.Compile("trainyard", filepath.Join(programs, "trainyard")),
		repo.Compile("trainyard-fn", filepath.Join(programs, "trainyard-fn")))
})

// again is a folder of its own for the same programs.
func (w world) again(t *testing.T) world {
	t.Helper()
	w.dir = t.TempDir()
	return w
}

func (w world) write(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join(w.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// build has kustomize find the function by its bare name.
func (w world) build(t *testing.T, folder string, flags ...string) ([]byte, error) {
	t.Helper()
	cmd := exec.Command(repo.Tool(t, "kustomize"), append([]string{"build", filepath.Join(w.dir, folder)}, flags...)...)
	cmd.Env = append(os.Environ(), "PATH="+w.path+string(os.PathListSeparator)+os.Getenv("PATH"))
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		err = &failed{said.String()}
	}
	return out, err
}

// failed is what a program says that fails.
type failed struct{ said string }

func (f *failed) Error() string { return f.said }

func (w world) run(t *testing.T, program string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(program, args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, said.String())
	}
	return out
}

// objects are those of a stream, as decoded YAML, by kind and name.
func objects(t *testing.T, stream []byte) map[string]any {
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
