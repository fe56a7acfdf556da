// Package docs runs what the documentation tells a reader to type.
//
// All of one Markdown file runs in order, in one copy of the repository; test/pages has what its fences mean. Where
// it uses kubectl, it gets a real control plane with Trainer and JobSet, and no kubelet; where it uses cue, kustomize
// or helm, it gets that. Fences marked "shell" are left out: they need what is not here, such as a registry.
package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/trainyard/trainyard/test/controlplane"
	"github.com/trainyard/trainyard/test/pages"
	"github.com/trainyard/trainyard/test/repo"
)

func TestMain(m *testing.M) { os.Exit(controlplane.Main(m)) }

func TestDocumentationIsTrue(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "repository")
	for _, file := range repo.Files(t) {
		if filepath.Ext(file) != ".md" || strings.HasPrefix(file, "bundles/rendered/") {
			continue
		}
		text, err := os.ReadFile(repo.Path(t, file))
		if err != nil {
			t.Fatal(err)
		}
		t.Run(file, func(t *testing.T) {
			checkLinks(t, file, string(text))
			steps := slices.DeleteFunc(pages.Parse(t, string(text)), func(s pages.Step) bool { return s.Shell })
			if len(steps) == 0 {
				return
			}
			reader := reader{pages.NewReader(t, folder)}
			if strings.Contains(string(text), "$ kubectl ") {
				reader.cluster(t)
			}
			for _, tool := range []string{"cue", "kustomize"} {
				if strings.Contains(string(text), "$ "+tool+" ") {
					reader.Environment = append(reader.Environment, "PATH="+filepath.Dir(repo.Tool(t, tool))+":"+os.Getenv("PATH"))
				}
			}
			if strings.Contains(string(text), "$ helm ") {
				reader.helm(t)
			}
			for _, s := range steps {
				reader.Follow(t, s)
			}
		})
	}
}

// reader has what a page asks for.
type reader struct{ *pages.Reader }

// cluster gives the reader a cluster, and kubectl for it. Other pages get the same one, and are not
// to meet the runtimes of this page.
func (r reader) cluster(t *testing.T) {
	t.Helper()
	cp := controlplane.Start(t)
	r.Environment = []string{"KUBECONFIG=" + cp.Kubeconfig(), "PATH=" + filepath.Dir(cp.Tool("kubectl")) + ":" + os.Getenv("PATH")}
	t.Cleanup(func() {
		r.Run(t, "kubectl delete trainjobs --all-namespaces --all && kubectl delete clustertrainingruntimes --all")
	})
}

// helm gives the reader Helm 4 by the name that people call it by.
func (r reader) helm(t *testing.T) {
	t.Helper()
	bin := t.TempDir()
	if err := os.Symlink(repo.Tool(t, "helm-4"), filepath.Join(bin, "helm")); err != nil {
		t.Fatal(err)
	}
	r.Environment = append(r.Environment, "PATH="+bin+":"+os.Getenv("PATH"))
}

var link = regexp.MustCompile(`\]\(([^)#]+)[^)]*\)`)

// checkLinks makes sure that files which are linked to exist.
func checkLinks(t *testing.T, file, text string) {
	t.Helper()
	for _, m := range link.FindAllStringSubmatch(text, -1) {
		if strings.Contains(m[1], "://") {
			continue
		}
		target := repo.Path(t, filepath.Dir(file), m[1])
		if _, err := os.Stat(target); err != nil {
			t.Errorf("link to %s: %v", m[1], err)
		}
	}
}
