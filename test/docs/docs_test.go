// Package docs tests the documentation. For example, it runs the commands in Markdown files.
//
// A Markdown file contains steps, such as commands, in code fences (see package doctest). The steps of one file run one
// after the other, in one copy of the repository. If a file uses kubectl, its steps run against a real control plane
// with Trainer and JobSet. The control plane has no kubelet, so no pods run. If a file uses cue, kustomize or helm, its
// steps find the program in PATH. Fences marked "shell" are not run, because they need services that tests do not have,
// such as a registry.
package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/trainyard/trainyard/test/controlplane"
	"github.com/trainyard/trainyard/test/doctest"
	"github.com/trainyard/trainyard/test/repo"
)

// The variable "elsewhere" contains the paths of the pages whose steps need trainyard's controller and a Git server.
// TestDocumentedCommandsWork skips the steps of these pages. The tests of package test/gitops/cmd/gitops run these
// steps.
var elsewhere = []string{"docs/gitops.md", "examples/gitops/README.md"}

func TestMain(m *testing.M) { os.Exit(controlplane.Main(m)) }

func TestDocumentedCommandsWork(t *testing.T) {
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
			steps := slices.DeleteFunc(doctest.Parse(t, string(text)), func(s doctest.Step) bool { return s.Shell })
			if len(steps) == 0 || slices.Contains(elsewhere, file) {
				return
			}
			reader := reader{doctest.NewReader(t, folder)}
			if strings.Contains(string(text), "$ kubectl ") {
				reader.useCluster(t)
			}
			for _, tool := range []string{"cue", "kustomize"} {
				if strings.Contains(string(text), "$ "+tool+" ") {
					reader.Environment = append(reader.Environment, "PATH="+filepath.Dir(repo.Tool(t, tool))+":"+os.Getenv("PATH"))
				}
			}
			if strings.Contains(string(text), "$ helm ") {
				reader.useHelm(t)
			}
			for _, s := range steps {
				reader.Follow(t, s)
			}
		})
	}
}

type reader struct{ *doctest.Reader }

// useCluster gives the reader's commands access to a control plane, and to kubectl. All Markdown files share the
// control plane, so useCluster deletes the TrainJobs and runtimes after the last step of a file.
func (r reader) useCluster(t *testing.T) {
	t.Helper()
	cp := controlplane.Start(t)
	r.Environment = []string{"KUBECONFIG=" + cp.Kubeconfig(), "PATH=" + filepath.Dir(cp.Tool("kubectl")) + ":" + os.Getenv("PATH")}
	t.Cleanup(func() {
		r.Run(t, "kubectl delete trainjobs --all-namespaces --all && kubectl delete clustertrainingruntimes --all")
	})
}

// useHelm makes Helm 4 available to the reader's commands, under the name "helm".
func (r reader) useHelm(t *testing.T) {
	t.Helper()
	bin := t.TempDir()
	if err := os.Symlink(repo.Tool(t, "helm-4"), filepath.Join(bin, "helm")); err != nil {
		t.Fatal(err)
	}
	r.Environment = append(r.Environment, "PATH="+bin+":"+os.Getenv("PATH"))
}

var link = regexp.MustCompile(`\]\(([^)#]+)[^)]*\)`)

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
