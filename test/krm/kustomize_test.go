package krm

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard/test/repo"
)

// platform is a document that is a functionConfig, too.
const platform = `apiVersion: trainyard.dev/v1alpha1
kind: Platform
metadata:
  name: acme
  annotations:
    trainyard.dev/environment: prod
    trainyard.dev/function: FUNCTION
    config.kubernetes.io/function: |
      exec: {path: trainyard-fn}
spec:
  runtimes:
    mpi: {from: openmpi-cpu, image: quay.io/acme/openmpi:4.1.6, limits: {maxNodes: 4}}
  tenants:
    team-a: {runtimes: [mpi], editors: {groups: [a]}}
  environments: {dev: {}, prod: {}}
`

// kustomization fails where the function has not run: a runtime of its making gets the name that it has.
const kustomization = `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
generators: [platform.yaml]
sortOptions: {order: fifo}
replacements:
- source: {kind: ClusterTrainingRuntime, name: mpi, fieldPath: metadata.name}
  targets:
  - select: {kind: ClusterTrainingRuntime, name: mpi}
    fieldPaths: [metadata.name]
`

// job is what a validator judges.
const job = `apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: train, namespace: team-a}
spec: {runtimeRef: {name: mpi}, trainer: {numNodes: NODES}}
`

var (
	allowed = []string{"--enable-alpha-plugins", "--enable-exec"}
	noExec  = []string{"--enable-alpha-plugins"}
)

// TestKustomizeGenerates what trainyard does, whether by itself or as the base of an overlay, or it fails.
func TestKustomizeGenerates(t *testing.T) {
	w := newWorld(t)
	w.write(t, "base/platform.yaml", strings.Replace(platform, "FUNCTION", "generate", 1))
	w.write(t, "base/kustomization.yaml", kustomization)
	w.write(t, "overlay/kustomization.yaml", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [../base]\nsortOptions: {order: fifo}\n")
	want := objects(t, w.run(t, w.trainyard, "generate", "-f", filepath.Join(w.dir, "base", "platform.yaml"), "--env", "prod"))
	if len(want) < 10 {
		t.Fatalf("%d objects", len(want))
	}
	for _, folder := range []string{"base", "overlay"} {
		out, err := w.build(t, folder, allowed...)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, objects(t, out)); diff != "" {
			t.Errorf("%s: -generate +kustomize:\n%s", folder, diff)
		}
		for name, flags := range map[string][]string{"without exec": noExec, "without alpha": nil} {
			if out, err := w.build(t, folder, flags...); err == nil {
				t.Errorf("%s %s: kustomize says nothing, and gives %d bytes", folder, name, len(out))
			}
		}
	}
}

// TestKustomizeTellsWhatIsWrong on standard error: it shows no results.
func TestKustomizeTellsWhatIsWrong(t *testing.T) {
	w := newWorld(t)
	w.write(t, "base/kustomization.yaml", kustomization)
	for name, tc := range map[string]struct{ old, new, says string }{
		"a typing error":    {"image:", "imag:", `Platform acme: spec.runtimes.mpi.imag: unknown key: did you mean "image"?`},
		"no environment":    {"    trainyard.dev/environment: prod\n", "", "the document has environments: name one with the annotation trainyard.dev/environment (dev, prod)"},
		"an unknown one":    {"environment: prod", "environment: prdo", "prdo"},
		"an unknown deed":   {"FUNCTION", "mutate", "want generate or validate"},
		"many at one stage": {"from: openmpi-cpu", "from: openmpi-cpu, numNodes: 9", "numNodes"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(platform, tc.old, tc.new, 1)
			w.write(t, "base/platform.yaml", strings.Replace(text, "FUNCTION", "generate", 1))
			out, err := w.build(t, "base", allowed...)
			if err == nil || len(out) > 0 || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("kustomize gives %d bytes and says %v, want nothing and %q", len(out), err, tc.says)
			}
		})
	}
}

// TestKustomizeValidates what it has: as a validator, which must not change anything.
func TestKustomizeValidates(t *testing.T) {
	w := newWorld(t)
	w.write(t, "base/platform.yaml", strings.Replace(platform, "FUNCTION", "validate", 1))
	w.write(t, "base/kustomization.yaml", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [job.yaml]\nvalidators: [platform.yaml]\n")
	w.write(t, "base/job.yaml", strings.Replace(job, "NODES", "4", 1))
	out, err := w.build(t, "base", allowed...)
	if err != nil || !strings.Contains(string(out), "numNodes: 4") {
		t.Errorf("a good TrainJob: %v\n%s", err, out)
	}
	w.write(t, "base/job.yaml", strings.Replace(job, "NODES", "5", 1))
	out, err = w.build(t, "base", allowed...)
	if says := "TrainJob train: spec.trainer.numNodes: nodes: want 1 to 4"; err == nil || len(out) > 0 || !strings.Contains(err.Error(), says) {
		t.Errorf("too many nodes: %v, want %q\n%s", err, says, out)
	}
}

// world is a folder of kustomizations, and the programs.
type world struct{ dir, trainyard, path string }

func newWorld(t *testing.T) world {
	t.Helper()
	programs := t.TempDir()
	cmd := exec.Command("go", "build", "-o", programs, "./cmd/trainyard", "./cmd/trainyard-fn")
	cmd.Dir = repo.Path(t)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}
	return world{dir: t.TempDir(), trainyard: filepath.Join(programs, "trainyard"), path: programs}
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
