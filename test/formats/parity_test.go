package formats

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard/bundles"
	"github.com/trainyard/trainyard/test/repo"
)

// formatReaders contains, for each format, a function that reads a bundle from disk as the real consumer of the
// format does.
var formatReaders = map[string]func(t *testing.T, dir string) []byte{
	"plain": func(t *testing.T, dir string) []byte {
		text, err := os.ReadFile(filepath.Join(dir, "manifests.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		return text
	},
	// Like Argo CD's repo-server, the following function reads all files of the folder "objects".
	"argocd": func(t *testing.T, dir string) []byte {
		var all []byte
		err := filepath.WalkDir(filepath.Join(dir, "objects"), func(file string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := os.ReadFile(file)
			all = append(append(all, "---\n"...), text...)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return all
	},
	"oci": func(t *testing.T, dir string) []byte { return unpackArtifact(t, readImage(t, dir)) },
	"helm": func(t *testing.T, dir string) []byte {
		rendered := helmTemplate(t, "helm-4", dir)
		if diff := cmp.Diff(objectsByName(t, rendered), objectsByName(t, helmTemplate(t, "helm-3", dir))); diff != "" {
			t.Errorf("-of Helm 4 +of Helm 3:\n%s", diff)
		}
		return rendered
	},
	"olm-payload": func(t *testing.T, dir string) []byte { return unpackedByOperator(t, filepath.Join(dir, "manifests")) },
	"kustomize": func(t *testing.T, dir string) []byte {
		return commandOutput(t, exec.Command(repo.Tool(t, "kustomize"), "build", dir))
	},
}

// TestFormatsHoldTheSameObjects checks that the real consumer of each format, such as kustomize or Helm, reads
// exactly the generated objects.
func TestFormatsHoldTheSameObjects(t *testing.T) {
	for name, file := range findExamples(t) {
		for environment, bundle := range generateBundles(t, read(t, file)) {
			want := map[string]string{}
			for o := range bundle.Objects.All() {
				text, err := o.MarshalJSON()
				if err != nil {
					t.Fatal(err)
				}
				want[o.ID().String()] = canonicalJSON(t, text)
			}
			for _, format := range bundles.Formats() {
				if !hasRequiredFields(t, format, bundle) {
					continue
				}
				t.Run(path.Join(name, format.Name(), environment), func(t *testing.T) {
					expectParity(t, format, bundle, want)
				})
			}
		}
	}
}

func expectParity(t *testing.T, format bundles.Format, bundle bundles.Bundle, want map[string]string) {
	t.Helper()
	consume, ok := formatReaders[format.Name()]
	if !ok {
		t.Fatalf("no reader for %s: add one", format.Name())
	}
	tree := renderBundle(t, format, bundle)
	dir := filepath.Join(t.TempDir(), "bundle")
	if _, err := tree.WriteDir(dir, false); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, objectsByName(t, consume(t, dir))); diff != "" {
		t.Errorf("-generated +read by its consumer:\n%s", diff)
	}
}

func objectsByName(t *testing.T, stream []byte) map[string]string {
	t.Helper()
	found := map[string]string{}
	for document := range splitDocuments(t, stream) {
		text, err := yaml.YAMLToJSON(document)
		if err != nil {
			t.Fatal(err)
		}
		var o struct {
			Kind     string
			Metadata struct{ Namespace, Name string }
		}
		if err := json.Unmarshal(text, &o); err != nil {
			t.Fatal(err)
		}
		id := o.Kind + " " + o.Metadata.Name
		if o.Metadata.Namespace != "" {
			id = o.Kind + " " + o.Metadata.Namespace + "/" + o.Metadata.Name
		}
		if _, twice := found[id]; twice {
			t.Errorf("the stream contains %s twice", id)
		}
		found[id] = canonicalJSON(t, text)
	}
	return found
}

func canonicalJSON(t *testing.T, text []byte) string {
	t.Helper()
	var value any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		t.Fatal(err)
	}
	sorted, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(sorted)
}

func helmTemplate(t *testing.T, version, dir string, args ...string) []byte {
	t.Helper()
	return withoutHelmAnnotation(t, commandOutput(t, exec.Command(repo.Tool(t, version), append([]string{"template", "release", dir}, args...)...)))
}

// withoutHelmAnnotation removes the annotation helm.sh/resource-policy from the objects of a stream, because only Helm
// reads this annotation.
func withoutHelmAnnotation(t *testing.T, stream []byte) []byte {
	t.Helper()
	var stripped [][]byte
	for document := range splitDocuments(t, stream) {
		var o map[string]any
		if err := yaml.Unmarshal(document, &o); err != nil {
			t.Fatalf("%v in:\n%s", err, document)
		}
		metadata, _ := o["metadata"].(map[string]any)
		if annotations, _ := metadata["annotations"].(map[string]any); annotations["helm.sh/resource-policy"] == "keep" {
			delete(annotations, "helm.sh/resource-policy")
			if len(annotations) == 0 {
				delete(metadata, "annotations")
			}
		}
		text, err := yaml.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		stripped = append(stripped, text)
	}
	return bytes.Join(stripped, []byte("---\n"))
}

func splitDocuments(t *testing.T, stream []byte) iter.Seq[[]byte] {
	t.Helper()
	return func(yield func([]byte) bool) {
		for reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(stream))); ; {
			document, err := reader.Read()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(bytes.TrimSpace(document)) > 0 && !yield(document) {
				return
			}
		}
	}
}

func commandOutput(t *testing.T, cmd *exec.Cmd) []byte {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("running %s: %v\n%s", cmd, err, stderr.String())
	}
	return out
}
