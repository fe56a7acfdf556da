package argocd

import (
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// backendPath is the path of git-http-backend, Git's own HTTP server.
const backendPath = "/usr/lib/git-core/git-http-backend"

type repository struct {
	dir string // the working copy
	url string
}

func newRepository(t *testing.T) repository {
	t.Helper()
	root := t.TempDir()
	served, dir := filepath.Join(root, "served"), filepath.Join(root, "work")
	server := httptest.NewServer(newBare(t, served))
	t.Cleanup(server.Close)
	git(t, root, "clone", "-q", filepath.Join(served, "platform.git"), dir)
	return repository{dir: dir, url: server.URL + "/platform.git"}
}

// newBare creates an empty repository in a folder, and returns an HTTP handler that lets all clients read and push.
func newBare(t *testing.T, served string) http.Handler {
	t.Helper()
	bare := filepath.Join(served, "platform.git")
	git(t, filepath.Dir(served), "init", "-q", "--bare", "-b", "main", bare)
	git(t, bare, "config", "http.receivepack", "true")
	return &cgi.Handler{Path: backendPath, Env: []string{"GIT_PROJECT_ROOT=" + served, "GIT_HTTP_EXPORT_ALL=1"}}
}

func (r repository) push(t *testing.T, message string) {
	t.Helper()
	git(t, r.dir, "add", "-A")
	git(t, r.dir, "commit", "-q", "-m", message)
	git(t, r.dir, "push", "-q", "origin", "HEAD:main")
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=admin", "-c", "user.email=admin@acme.example", "-c", "init.defaultBranch=main"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}
