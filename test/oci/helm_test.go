package oci

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/test/repo"
)

// TestChartsAreInstalledFromRegistries: Helm 3 and Helm 4 read what publish helm has taken to a registry, each environment's chart
// by its name and version, and make the same of it as of the folder. A second time nothing is sent.
func TestChartsAreInstalledFromRegistries(t *testing.T) {
	w := serve(t, repo.Build(t), nil)
	references := w.mustHelm(t, "oci://HOST/charts", "-f", acme)
	want := []string{w.host + "/charts/acme-dev:0.1.0@", w.host + "/charts/acme-prod:0.1.0@"}
	if len(references) != 2 || !strings.HasPrefix(references[0], want[0]) || !strings.HasPrefix(references[1], want[1]) {
		t.Fatalf("published %s, want %s", references, want)
	}
	for _, version := range []string{"helm-3", "helm-4"} {
		helm := repo.Tool(t, version)
		pulled := output(t, helm, "template", "release", "oci://"+w.host+"/charts/acme-prod", "--version", "0.1.0", "--plain-http")
		pulled = pulled[max(0, strings.Index(pulled, "---\n")):] // Helm 4 says first what it pulled
		local := output(t, helm, "template", "release", repo.Path(t, "bundles", "rendered", "acme", "helm", "prod"))
		if diff := cmp.Diff(local, pulled); diff != "" || len(pulled) < 10_000 {
			t.Errorf("%s: -from the folder +from the registry:\n%.2000s", version, diff)
		}
	}
	before := w.writes.Load()
	if again := w.mustHelm(t, "oci://HOST/charts", "-f", acme); cmp.Diff(references, again) != "" || w.writes.Load() != before {
		t.Errorf("a second time: %s instead of %s, and %d requests that change something", again, references, w.writes.Load()-before)
	}
}

// TestVersionsStay: another chart of a version that is there is refused, in a registry and as a file, unless somebody insists.
func TestVersionsStay(t *testing.T) {
	w := serve(t, repo.Build(t), nil)
	dir, layer := t.TempDir(), filepath.Join(t.TempDir(), "layer.yaml")
	text := "apiVersion: trainyard.dev/v1alpha1\nkind: Platform\nmetadata: {name: acme}\nspec: {runtimes: {mpi-deepspeed: {image: quay.io/acme/other:1}}}\n"
	if err := os.WriteFile(layer, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dest := range []string{"oci://HOST/charts", "tgz:" + dir} {
		before := w.mustHelm(t, dest, "-f", acme, "--env", "prod")
		s := w.publishes(t, "helm", dest, "-f", acme, "-f", layer, "--env", "prod")
		if s.code != 6 || !strings.Contains(s.err, "raise spec.delivery.helm.version, or replace the chart with --force") {
			t.Errorf("%s: exit code %d: %s", dest, s.code, s.err)
		}
		if again := w.mustHelm(t, dest, "-f", acme, "--env", "prod"); cmp.Diff(before, again) != "" {
			t.Errorf("%s: what was refused is there: %s, not %s", dest, again, before)
		}
		if after := w.mustHelm(t, dest, "-f", acme, "-f", layer, "--env", "prod", "--force"); cmp.Diff(before, after) == "" {
			t.Errorf("%s: nothing was replaced: %s", dest, after)
		}
	}
}

// TestChartsInFolders: a layout holds all charts, by name and version.
func TestChartsInFolders(t *testing.T) {
	w := serve(t, repo.Build(t), nil)
	dir := filepath.Join(t.TempDir(), "layout")
	got := w.mustHelm(t, "oci-layout:"+dir, "-f", acme)
	if len(got) != 2 || !strings.Contains(got[0], dir+":acme-dev-0.1.0@sha256:") || !strings.Contains(got[1], dir+":acme-prod-0.1.0@sha256:") {
		t.Errorf("published %s", got)
	}
}

// TestChartsInFiles: the same platform is the same file, which Helm reads; one that is so already is not written again.
func TestChartsInFiles(t *testing.T) {
	w := serve(t, repo.Build(t), nil)
	here, there := t.TempDir(), filepath.Join(t.TempDir(), "new", "folder")
	first := w.mustHelm(t, "tgz:"+here, "-f", acme, "--env", "prod")
	second := w.mustHelm(t, "tgz:"+there, "-f", acme, "--env", "prod")
	if len(first) != 1 || strings.TrimPrefix(first[0], here) != strings.TrimPrefix(second[0], there) {
		t.Errorf("two runs made %s and %s", first, second)
	}
	file := filepath.Join(here, "acme-prod-0.1.0.tgz")
	before, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	w.mustHelm(t, "tgz:"+here, "-f", acme, "--env", "prod")
	if after, err := os.Stat(file); err != nil || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("the file was written again: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(here, ".*")); len(left) > 0 {
		t.Errorf("%s are left", left)
	}
	for _, version := range []string{"helm-3", "helm-4"} {
		if result := output(t, repo.Tool(t, version), "lint", "--strict", file); !strings.Contains(result, "0 chart(s) failed") {
			t.Errorf("%s:\n%s", version, result)
		}
	}
}

// TestSavedChartIsReported: trainyard prints the chart that it wrote, even if it cannot write the next one.
func TestSavedChartIsReported(t *testing.T) {
	w := serve(t, repo.Build(t), nil)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "acme-prod-0.1.0.tgz"), []byte("of somebody else"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := w.publishes(t, "helm", "tgz:"+dir, "-f", acme)
	if s.code != 6 || strings.Count(s.out, "\n") != 1 || !strings.HasPrefix(s.out, filepath.Join(dir, "acme-dev-0.1.0.tgz")+"@sha256:") {
		t.Errorf("exit code %d, standard output %q, standard error %q", s.code, s.out, s.err)
	}
}

func (w *world) mustHelm(t *testing.T, dest string, args ...string) []string {
	t.Helper()
	s := w.publishes(t, "helm", dest, args...)
	if s.code != 0 {
		t.Fatalf("publishing to %s ended with exit code %d: %s", dest, s.code, s.err)
	}
	return strings.Fields(s.out)
}

func output(t *testing.T, program string, args ...string) string {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env = append(cmd.Environ(), "HOME="+t.TempDir(), "HELM_CACHE_HOME="+t.TempDir())
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", cmd, err)
	}
	return string(out)
}
