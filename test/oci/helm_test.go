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

// TestChartsAreInstalledFromRegistries: Helm 3 and Helm 4 can read the uploaded charts from the registry by name
// and version. A chart from the registry renders the same objects as the chart in bundles/rendered. A second run of
// `trainyard publish helm` uploads nothing.
func TestChartsAreInstalledFromRegistries(t *testing.T) {
	w := startRegistry(t, repo.Build(t), nil)
	references := w.mustHelm(t, "oci://HOST/charts", "-f", acmePath)
	want := []string{w.host + "/charts/acme-dev:0.1.0@", w.host + "/charts/acme-prod:0.1.0@"}
	if len(references) != 2 || !strings.HasPrefix(references[0], want[0]) || !strings.HasPrefix(references[1], want[1]) {
		t.Fatalf("published %s, want %s", references, want)
	}
	for _, version := range []string{"helm-3", "helm-4"} {
		helm := repo.Tool(t, version)
		pulled := output(t, helm, "template", "release", "oci://"+w.host+"/charts/acme-prod", "--version", "0.1.0", "--plain-http")
		pulled = pulled[max(0, strings.Index(pulled, "---\n")):] // Helm 4 first prints which chart it pulled
		local := output(t, helm, "template", "release", repo.Path(t, "bundles", "rendered", "acme", "helm", "prod"))
		if diff := cmp.Diff(local, pulled); diff != "" || len(pulled) < 10_000 {
			t.Errorf("%s: -from the folder +from the registry:\n%.2000s", version, diff)
		}
	}
	before := w.writes.Load()
	if again := w.mustHelm(t, "oci://HOST/charts", "-f", acmePath); cmp.Diff(references, again) != "" || w.writes.Load() != before {
		t.Errorf("the second publish printed %s, want %s; it sent %d write requests, want none", again, references, w.writes.Load()-before)
	}
}

// TestVersionsStay: if a registry or a folder already contains a different chart with the same name and version,
// `trainyard publish helm` must refuse to replace this chart. With the flag --force, the command must replace the
// chart.
func TestVersionsStay(t *testing.T) {
	w := startRegistry(t, repo.Build(t), nil)
	dir, layer := t.TempDir(), filepath.Join(t.TempDir(), "layer.yaml")
	text := "apiVersion: trainyard.dev/v1alpha1\nkind: Platform\nmetadata: {name: acme}\nspec: {runtimes: {mpi-deepspeed: {image: quay.io/acme/other:1}}}\n"
	if err := os.WriteFile(layer, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dest := range []string{"oci://HOST/charts", "tgz:" + dir} {
		before := w.mustHelm(t, dest, "-f", acmePath, "--env", "prod")
		s := w.runPublish(t, "helm", dest, "-f", acmePath, "-f", layer, "--env", "prod")
		if s.code != 6 || !strings.Contains(s.err, "raise spec.delivery.helm.version, or replace the chart with --force") {
			t.Errorf("%s: exit code %d: %s", dest, s.code, s.err)
		}
		if again := w.mustHelm(t, dest, "-f", acmePath, "--env", "prod"); cmp.Diff(before, again) != "" {
			t.Errorf("%s: the refused chart has replaced the first chart: got %s, want %s", dest, again, before)
		}
		if after := w.mustHelm(t, dest, "-f", acmePath, "-f", layer, "--env", "prod", "--force"); cmp.Diff(before, after) == "" {
			t.Errorf("%s: --force did not replace the chart: %s", dest, after)
		}
	}
}

// TestChartsInFolders: `trainyard publish helm` writes the charts of all environments to one OCI image layout. Each
// tag consists of the name and version of a chart.
func TestChartsInFolders(t *testing.T) {
	w := startRegistry(t, repo.Build(t), nil)
	dir := filepath.Join(t.TempDir(), "layout")
	got := w.mustHelm(t, "oci-layout:"+dir, "-f", acmePath)
	if len(got) != 2 || !strings.Contains(got[0], dir+":acme-dev-0.1.0@sha256:") || !strings.Contains(got[1], dir+":acme-prod-0.1.0@sha256:") {
		t.Errorf("published %s", got)
	}
}

// TestChartsInFiles: `trainyard publish helm` always writes the same bytes for a platform, and does not write an
// identical chart file again.
func TestChartsInFiles(t *testing.T) {
	w := startRegistry(t, repo.Build(t), nil)
	here, there := t.TempDir(), filepath.Join(t.TempDir(), "new", "folder")
	first := w.mustHelm(t, "tgz:"+here, "-f", acmePath, "--env", "prod")
	second := w.mustHelm(t, "tgz:"+there, "-f", acmePath, "--env", "prod")
	if len(first) != 1 || strings.TrimPrefix(first[0], here) != strings.TrimPrefix(second[0], there) {
		t.Errorf("two runs printed %s and %s, want the same names and digests", first, second)
	}
	file := filepath.Join(here, "acme-prod-0.1.0.tgz")
	before, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	w.mustHelm(t, "tgz:"+here, "-f", acmePath, "--env", "prod")
	if after, err := os.Stat(file); err != nil || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("the file was written again: %v", err)
	}
	if remaining, _ := filepath.Glob(filepath.Join(here, ".*")); len(remaining) > 0 {
		t.Errorf("the files %s remain", remaining)
	}
	for _, version := range []string{"helm-3", "helm-4"} {
		if result := output(t, repo.Tool(t, version), "lint", "--strict", file); !strings.Contains(result, "0 chart(s) failed") {
			t.Errorf("%s:\n%s", version, result)
		}
	}
}

// TestSavedChartIsReported: trainyard prints the reference of a chart that it wrote, even if it cannot write the next
// chart.
func TestSavedChartIsReported(t *testing.T) {
	w := startRegistry(t, repo.Build(t), nil)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "acme-prod-0.1.0.tgz"), []byte("another program's file"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := w.runPublish(t, "helm", "tgz:"+dir, "-f", acmePath)
	if s.code != 6 || strings.Count(s.out, "\n") != 1 || !strings.HasPrefix(s.out, filepath.Join(dir, "acme-dev-0.1.0.tgz")+"@sha256:") {
		t.Errorf("exit code %d, standard output %q, standard error %q", s.code, s.out, s.err)
	}
}

func (w *world) mustHelm(t *testing.T, dest string, args ...string) []string {
	t.Helper()
	s := w.runPublish(t, "helm", dest, args...)
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
