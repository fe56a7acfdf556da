//go:build linux

package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trainyard/trainyard/test/cluster"
	"github.com/trainyard/trainyard/test/doctest"
	"github.com/trainyard/trainyard/test/gitops"
	"github.com/trainyard/trainyard/test/poll"
	"github.com/trainyard/trainyard/test/repo"
)

// TestMain runs the command "gitops" instead of the tests if the file name of the test program is gitops. The tests run
// commands from documentation pages. Some of these commands contain `go run ./test/gitops/cmd/gitops`. The tests
// replace this text with `$GITOPS --dir $SANDBOX`. The environment variable GITOPS contains the path of a symbolic
// link. The link has the file name gitops, and points to the test program. Therefore the changed command starts the
// test program again. This time, the file name of the test program is gitops, so TestMain runs the command "gitops".
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "gitops" {
		main()
		return
	}
	log.SetLogger(logr.Discard()) // no logs are needed, because failures are returned as errors
	os.Exit(m.Run())
}

// The commands on the page "readme" start a sandbox and run a TrainJob. The commands on the page "guide" continue where the
// section "Push a TrainJob" of the readme ends.
const readme, guide = "examples/gitops/README.md", "docs/gitops.md"

// TestPagesOfGitOps starts a sandbox without pods. It runs the commands of the readme that come before the section
// "Watch the run", because this section needs pods. The test then runs the commands of the guide.
func TestPagesOfGitOps(t *testing.T) {
	if os.Getenv("TRAINYARD_GITOPS") == "" {
		t.Skip("takes a minute, most of which Kubernetes needs to find out about TrainJobs: run `make gitops`")
	}
	dir, err := os.MkdirTemp("", "gitops-")
	if err != nil {
		t.Fatal(err)
	}
	r := newReader(t, dir, cluster.ControlPlane)
	r.follow(t, before(t, readPage(t, readme), "## Watch the run\n"))
	r.follow(t, readPage(t, guide))
	r.expectRestart(t)
}

func TestReadmeRunsPods(t *testing.T) {
	if os.Getenv("TRAINYARD_E2E") == "" {
		t.Skip("needs root, an image and minutes: run `make gitops`")
	}
	dir, err := cluster.DefaultDir()
	if err != nil {
		t.Fatal(err)
	}
	if found, err := cluster.Status(dir); err != nil || len(found) > 0 {
		t.Fatalf("%s has a cluster: run `sandbox down` first (%v)", dir, err)
	}
	r := newReader(t, dir, cluster.Pods)
	if err := cluster.Load(t.Context(), dir, repo.Path(t, ".tools/images/openmpi.tar")); err != nil {
		t.Fatal(err)
	}
	r.follow(t, readPage(t, readme))
}

type reader struct {
	*doctest.Reader
	gitops   gitops.GitOps
	programs *strings.Replacer // replaces `go run` by a compiled program
}

func newReader(t *testing.T, dir string, level cluster.Level) reader {
	t.Helper()
	t.Cleanup(func() {
		if err := cluster.Down(context.Background(), dir, os.Stderr); err != nil {
			t.Error(err)
		}
	})
	if err := cluster.Up(t.Context(), cluster.Options{Dir: dir, Level: level, Progress: os.Stderr}); err != nil {
		t.Fatal(err)
	}
	r := reader{Reader: doctest.NewReader(t, filepath.Join(t.TempDir(), "repository")), gitops: gitops.GitOps{Dir: dir, Progress: os.Stderr}}
	if err := r.gitops.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.Environment = []string{
		"KUBECONFIG=" + cluster.Kubeconfig(dir), "PATH=" + filepath.Dir(repo.Tool(t, "kubectl")) + ":" + os.Getenv("PATH"),
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=ann", "GIT_AUTHOR_EMAIL=ann@acme.example",
		"GIT_COMMITTER_NAME=ann", "GIT_COMMITTER_EMAIL=ann@acme.example", "NO_PROXY=127.0.0.1",
	}
	r.usePrograms(t)
	return r
}

// usePrograms prepares replacements for `go run` in commands, so that the commands run compiled programs. In the
// changed commands, environment variables, such as $GITOPS, stand for the paths of the programs. The commands cannot
// contain the paths themselves. The reason is that a path can contain /tmp, and doctest.Reader replaces /tmp in each
// command.
func (r *reader) usePrograms(t *testing.T) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := filepath.Join(t.TempDir(), "gitops")
	if err := os.Symlink(self, command); err != nil {
		t.Fatal(err)
	}
	r.Environment = append(r.Environment, "GITOPS="+command, "SANDBOX="+r.gitops.Dir, "TRAINYARD="+repo.Build(t))
	r.programs = strings.NewReplacer(
		"go run ./cmd/trainyard ", "$TRAINYARD ",
		"go run ./test/gitops/cmd/gitops", "$GITOPS --dir $SANDBOX",
		"go run ./test/cluster/cmd/sandbox kubeconfig", "echo $KUBECONFIG",
	)
}

func (r reader) follow(t *testing.T, page string) {
	t.Helper()
	for _, step := range doctest.Parse(t, page) {
		switch {
		case step.Shell: // the step needs a server that this test does not have
			continue
		case step.Command == "go run ./test/cluster/cmd/sandbox down":
			r.takeDown(t)
			continue
		case strings.HasPrefix(step.Command, "make "):
			r.Follow(t, step)
			continue
		}
		out := r.Run(t, r.programs.Replace(step.Command))
		if want := strings.Join(step.Lines, "\n"); want != "" && !matches(normalize(want), normalize(out)) {
			t.Errorf("$ %s\n-documented +printed:\n%s", step.Command, cmp.Diff(normalize(want), normalize(out)))
		}
	}
}

func (r reader) takeDown(t *testing.T) {
	t.Helper()
	servers, err := cluster.Status(r.gitops.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"git-server", "trainyard-controller"} {
		if !slices.ContainsFunc(servers, func(s cluster.Server) bool { return s.Name == name && s.PID != 0 }) {
			t.Errorf("the sandbox does not list %s as a server that runs", name)
		}
	}
	if err := cluster.Down(t.Context(), r.gitops.Dir, os.Stderr); err != nil {
		t.Fatal(err)
	}
	for _, s := range servers {
		poll.Until(t, 10*time.Second, func(context.Context) error {
			if _, err := os.Stat(fmt.Sprintf("/proc/%d", s.PID)); err == nil && s.PID != 0 {
				return fmt.Errorf("%s still runs after `sandbox down`", s.Name)
			}
			return nil
		})
	}
}

// expectRestart checks that a second `gitops up` keeps the repository and restarts stopped servers, and that `gitops
// push` replaces the files of the repository.
func (r reader) expectRestart(t *testing.T) {
	t.Helper()
	url := r.Run(t, r.programs.Replace("go run ./test/gitops/cmd/gitops url"))
	if err := cluster.AddedServer(r.gitops.Dir, "git-server").Stop(); err != nil {
		t.Fatal(err)
	}
	if err := r.gitops.Status(os.Stderr); err == nil {
		t.Error("Status() returns no error, although the Git server does not run")
	}
	if err := r.gitops.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := r.Run(t, r.programs.Replace("go run ./test/gitops/cmd/gitops url")); after != url {
		t.Errorf("the URL is %s after a restart, and was %s", after, url)
	}
	const push = "go run ./test/gitops/cmd/gitops push examples/gitops/jobs"
	if out := r.Run(t, r.programs.Replace(push+" && "+push)); !strings.Contains(out, "nothing was pushed") {
		t.Errorf("a second push prints %q", out)
	}
	if files := r.Run(t, "git -C /tmp/jobs pull -q && ls /tmp/jobs"); files != "hello.yaml\n" {
		t.Errorf("the files after a push are %q, want only hello.yaml", files)
	}
	r.pushLargeFile(t)
	if err := r.gitops.Down(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.gitops.URL(); err == nil {
		t.Error("URL() returns no error after Down()")
	}
}

// pushLargeFile pushes a file that is so large that Git sends it without a Content-Length.
func (r reader) pushLargeFile(t *testing.T) {
	t.Helper()
	folder, large := t.TempDir(), make([]byte, 2<<20)
	if _, err := rand.Read(large); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "weights.bin"), large, 0o600); err != nil {
		t.Fatal(err)
	}
	if pushed, err := r.gitops.Push(t.Context(), folder, "Add a large file"); err != nil || !pushed {
		t.Errorf("Push() of a large file = %t, %v, want true", pushed, err)
	}
}

var volatile = []struct {
	pattern *regexp.Regexp
	name    string
}{
	{regexp.MustCompile(`\b[0-9a-f]{7,40}\b`), "COMMIT"},
	{regexp.MustCompile(`\b[0-9]+[smhd]([0-9]+[smhd])?\b`), "AGE"},
	{regexp.MustCompile(`127\.0\.0\.1:[0-9]+`), "ADDRESS"},
	{regexp.MustCompile(`\b[a-z2-7]{26}\b`), "PASSWORD"},
	{regexp.MustCompile(`process [0-9]+`), "PROCESS"},
	{regexp.MustCompile(`\bhello-[a-z2-7]{8}\b`), "hello-ID"},
	{regexp.MustCompile(` +`), " "},
}

// normalize replaces text that differs from run to run, such as ages. It also replaces several spaces with one space,
// because the widths of columns differ.
func normalize(text string) string {
	for _, v := range volatile {
		text = v.pattern.ReplaceAllString(text, v.name)
	}
	return strings.TrimSpace(text)
}

// matches reports whether a text consists of the lines of a pattern. A line "..." in the pattern
// stands for any number of lines.
func matches(pattern, text string) bool {
	quoted := strings.ReplaceAll(regexp.QuoteMeta("\n"+pattern), "\n"+regexp.QuoteMeta("..."), `(\n.*)*`)
	return regexp.MustCompile("^" + quoted + "$").MatchString("\n" + text)
}

func readPage(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(repo.Path(t, page))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func before(t *testing.T, text, heading string) string {
	t.Helper()
	first, _, found := strings.Cut(text, heading)
	if !found {
		t.Fatalf("the page has no heading %q", heading)
	}
	return first
}
