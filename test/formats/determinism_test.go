package formats

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	goyaml "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard/bundles"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/test/repo"
)

// TestSurroundingsDoNotMatter checks that the output does not depend on the machine's time zone, language, folders or
// number of processors.
func TestSurroundingsDoNotMatter(t *testing.T) {
	program := repo.Build(t)
	surroundings := map[string][]string{
		"at home":     {"TZ=UTC", "LANG=C", "GOMAXPROCS=1", "UMASK=022", "TMPDIR=" + t.TempDir(), "HOME=" + t.TempDir()},
		"far from it": {"TZ=Pacific/Kiritimati", "LANG=tr_TR.UTF-8", "LC_ALL=tr_TR.UTF-8", "GOMAXPROCS=8", "UMASK=077", "TMPDIR=" + t.TempDir(), "HOME=/nonexistent"},
	}
	for name, file := range findExamples(t) {
		for _, format := range bundles.Formats() {
			_, binary := format.(bundles.Binary)
			if _, err := os.Stat(repo.Path(t, "bundles", "rendered", name, format.Name())); err != nil && !binary {
				// Skip this format: the document lacks fields that the format needs, so bundles/rendered contains no
				// folder for the format. If the folder were missing by mistake, TestRenderedIsTrue would fail.
				continue
			}
			t.Run(name+"/"+format.Name(), func(t *testing.T) {
				// Files in binary formats are not committed. For these formats, the test compares the first
				// output with the later outputs.
				var want map[string]string
				if !binary {
					want = readFolder(t, repo.Path(t, "bundles", "rendered", name, format.Name()))
				}
				for where, environment := range surroundings {
					dir := filepath.Join(t.TempDir(), where)
					cmd := exec.Command("sh", "-c", `umask "$UMASK"; exec "$@"`, "sh", program, "generate", "-f", repo.Path(t, file), "--format", format.Name(), "-o", dir)
					cmd.Env = append(os.Environ(), environment...)
					commandOutput(t, cmd)
					written := readFolder(t, dir)
					if want == nil {
						want = written
					}
					if diff := cmp.Diff(want, written); diff != "" {
						t.Errorf("%s: -expected +written:\n%s", where, diff)
					}
				}
			})
		}
	}
}

func TestOrderAndSyntaxDoNotMatter(t *testing.T) {
	for name, file := range findExamples(t) {
		document := read(t, file)
		asJSON, err := yaml.YAMLToJSON(document.Text)
		if err != nil {
			t.Fatal(err)
		}
		others := map[string]generator.Input{
			"JSON": {Name: "platform.json", Text: asJSON},
			"CUE":  {Name: "platform.cue", Text: asJSON},
		}
		for seed := range uint64(5) {
			others[fmt.Sprintf("YAML shuffled with seed %d", seed)] = generator.Input{Name: "platform.yaml", Text: shuffleKeys(t, document.Text, seed)}
		}
		want := yamlStreams(t, document)
		for what, other := range others {
			t.Run(name+"/"+what, func(t *testing.T) {
				if diff := cmp.Diff(want, yamlStreams(t, other)); diff != "" {
					t.Errorf("-as it is +as %s:\n%s", what, diff)
				}
			})
		}
	}
}

func yamlStreams(t *testing.T, document generator.Input) map[string]string {
	t.Helper()
	plain, _ := bundles.Named("plain")
	written := map[string]string{}
	for environment, bundle := range generateBundles(t, document) {
		var b strings.Builder
		if err := plain.(bundles.Streamer).Stream(t.Context(), &b, bundle.Objects); err != nil {
			t.Fatal(err)
		}
		written[environment] = b.String()
	}
	return written
}

func shuffleKeys(t *testing.T, text []byte, seed uint64) []byte {
	t.Helper()
	var root goyaml.Node
	if err := goyaml.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	shuffle(&root, rand.New(rand.NewPCG(seed, 1)))
	mixed, err := goyaml.Marshal(&root)
	if err != nil {
		t.Fatal(err)
	}
	return mixed
}

func shuffle(n *goyaml.Node, random *rand.Rand) {
	if n.Kind == goyaml.MappingNode {
		random.Shuffle(len(n.Content)/2, func(i, j int) {
			n.Content[2*i], n.Content[2*j] = n.Content[2*j], n.Content[2*i]
			n.Content[2*i+1], n.Content[2*j+1] = n.Content[2*j+1], n.Content[2*i+1]
		})
	}
	for _, child := range n.Content {
		shuffle(child, random)
	}
}
