// Package docs runs what the documentation tells a reader to type.
//
// In a Markdown file, a fence marked "console" holds commands after "$ " and, on
// the lines below each, what it prints: nothing if the output is of no interest,
// and "..." for any number of lines. A fence marked "cue file=PATH" or "yaml
// file=PATH" is a file that the reader creates, or one of ours, shown as it is. All of one Markdown file runs in
// order, in one copy of the repository. Where it uses kubectl, it gets a real
// control plane with Trainer and JobSet, and no kubelet; where it uses cue, kustomize or helm, it gets that.
package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/trainyard/trainyard/test/controlplane"
	"github.com/trainyard/trainyard/test/repo"
)

func TestMain(m *testing.M) { os.Exit(controlplane.Main(m)) }

// lane is a command that a test cannot run, because it would run itself, or for
// many minutes. The test sees that Make knows the lane.
var lane = regexp.MustCompile(`^make [a-z][a-z -]*$`)

func TestDocumentationIsTrue(t *testing.T) {
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
			steps := parse(t, string(text))
			if len(steps) == 0 {
				return
			}
			reader := reader{copy: repo.Copy(t), tmp: t.TempDir()}
			if strings.Contains(string(text), "$ kubectl ") {
				reader.cluster(t)
			}
			for _, tool := range []string{"cue", "kustomize"} {
				if strings.Contains(string(text), "$ "+tool+" ") {
					reader.environment = append(reader.environment, "PATH="+filepath.Dir(repo.Tool(t, tool))+":"+os.Getenv("PATH"))
				}
			}
			if strings.Contains(string(text), "$ helm ") {
				reader.helm(t)
			}
			for _, s := range steps {
				reader.follow(t, s)
			}
		})
	}
}

// step is a file to create, or a command to run and what it prints.
type step struct {
	file, command string
	lines         []string
}

var fence = regexp.MustCompile("^```([a-z]*)(?: file=(\\S+))?$")

// parse reads the steps of a Markdown file.
func parse(t *testing.T, text string) []step {
	t.Helper()
	var steps []step
	kind, file := "", ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		m := fence.FindStringSubmatch(line)
		switch {
		case strings.HasPrefix(line, "```") && m == nil:
			t.Fatalf("cannot read the fence %s", line)
		case m != nil && kind == "" && file == "":
			kind, file = m[1], m[2]
			if file != "" {
				steps = append(steps, step{file: file})
			}
			if kind == "" {
				t.Fatal("a fence does not say what it holds")
			}
		case m != nil:
			kind, file = "", ""
		case file != "":
			last := &steps[len(steps)-1]
			last.lines = append(last.lines, line)
		case kind == "console" && strings.HasPrefix(line, "$ "):
			steps = append(steps, step{command: strings.TrimPrefix(line, "$ ")})
		case kind == "console":
			last := &steps[len(steps)-1]
			last.lines = append(last.lines, line)
		}
	}
	return steps
}

// reader does as told, in a copy of the repository and a /tmp of its own.
type reader struct {
	copy, tmp   string
	environment []string
}

// cluster gives the reader a cluster, and kubectl for it. Other pages get the same one, and are not
// to meet the runtimes of this page.
func (r *reader) cluster(t *testing.T) {
	t.Helper()
	cp := controlplane.Start(t)
	r.environment = []string{"KUBECONFIG=" + cp.Kubeconfig(), "PATH=" + filepath.Dir(cp.Tool("kubectl")) + ":" + os.Getenv("PATH")}
	t.Cleanup(func() {
		r.run(t, "kubectl delete trainjobs --all-namespaces --all && kubectl delete clustertrainingruntimes --all")
	})
}

// helm gives the reader Helm 4 by the name that people call it by.
func (r *reader) helm(t *testing.T) {
	t.Helper()
	bin := t.TempDir()
	if err := os.Symlink(repo.Tool(t, "helm-4"), filepath.Join(bin, "helm")); err != nil {
		t.Fatal(err)
	}
	r.environment = append(r.environment, "PATH="+bin+":"+os.Getenv("PATH"))
}

func (r reader) follow(t *testing.T, s step) {
	t.Helper()
	if s.file != "" {
		r.create(t, s)
		return
	}
	if lane.MatchString(s.command) {
		r.run(t, strings.Replace(s.command, "make", "make -n", 1))
		return
	}
	out := r.run(t, s.command)
	if len(s.lines) > 0 && !matches(s.lines, strings.Split(strings.TrimSuffix(out, "\n"), "\n")) {
		t.Errorf("$ %s\nprints:\n%s\nthe documentation says:\n%s", s.command, out, strings.Join(s.lines, "\n"))
	}
}

func (r reader) create(t *testing.T, s step) {
	t.Helper()
	path := r.private(s.file)
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.copy, path)
	}
	text := strings.Join(s.lines, "\n") + "\n"
	if there, err := os.ReadFile(path); err == nil && string(there) != text {
		t.Errorf("%s is shown as\n%s\nbut holds\n%s", s.file, text, there)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// run returns what a command prints on both streams; the command must succeed.
func (r reader) run(t *testing.T, command string) string {
	t.Helper()
	cmd := exec.Command("bash", "-euo", "pipefail", "-c", r.private(command))
	cmd.Dir = r.copy
	cmd.Env = append(os.Environ(), r.environment...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("$ %s: %v\n%s", command, err, out)
	}
	return strings.ReplaceAll(string(out), r.tmp, "/tmp")
}

// private replaces /tmp, so that readers do not disturb each other.
func (r reader) private(text string) string { return strings.ReplaceAll(text, "/tmp", r.tmp) }

// matches compares lines with a pattern in which "..." stands for any number of lines.
func matches(pattern, lines []string) bool {
	if len(pattern) == 0 {
		return len(lines) == 0
	}
	if strings.TrimSpace(pattern[0]) == "..." {
		for skip := 0; skip <= len(lines); skip++ {
			if matches(pattern[1:], lines[skip:]) {
				return true
			}
		}
		return false
	}
	return len(lines) > 0 && strings.TrimRight(lines[0], " ") == strings.TrimRight(pattern[0], " ") && matches(pattern[1:], lines[1:])
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

func TestMatches(t *testing.T) {
	cases := map[string]struct {
		pattern, lines string
		want           bool
	}{
		"equal lines":              {"a\nb", "a\nb", true},
		"another line":             {"a\nb", "a\nc", false},
		"a line is missing":        {"a\nb", "a", false},
		"a line too many":          {"a", "a\nb", false},
		"dots stand for several":   {"a\n...\nd", "a\nb\nc\nd", true},
		"dots stand for none":      {"a\n...\nd", "a\nd", true},
		"dots do not hide the end": {"a\n...\nd", "a\nb", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := matches(strings.Split(tc.pattern, "\n"), strings.Split(tc.lines, "\n")); got != tc.want {
				t.Errorf("matches() = %v, want %v", got, tc.want)
			}
		})
	}
}
