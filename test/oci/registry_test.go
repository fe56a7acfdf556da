// Package oci contains the tests of the command "trainyard publish".
package oci

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/trainyard/trainyard/test/repo"
)

// acmePath is the path of an example that has environments.
const acmePath = "examples/acme/platform.yaml"

// world contains a registry on this machine, and the settings with which tests run trainyard.
type world struct {
	program, host string
	writes        atomic.Int64 // number of requests that can change the registry
	environment   []string     // additional environment variables of the program
}

// startRegistry starts a registry. If the function "around" is not nil, it wraps the handler of the registry. With this
// function, tests can change requests and responses.
func startRegistry(t *testing.T, program string, around func(http.Handler) http.Handler) *world {
	t.Helper()
	w := &world{program: program}
	inner := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	if around != nil {
		inner = around(inner)
	}
	server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		if request.Method != http.MethodGet && request.Method != http.MethodHead {
			w.writes.Add(1)
		}
		inner.ServeHTTP(answer, request)
	}))
	t.Cleanup(server.Close)
	w.host = strings.TrimPrefix(server.URL, "http://")
	w.environment = []string{"HOME=" + t.TempDir(), "DOCKER_CONFIG=" + t.TempDir(), "REGISTRY_AUTH_FILE=", "XDG_RUNTIME_DIR=" + t.TempDir()}
	return w
}

type result struct {
	code     int
	out, err string
}

// publish runs `trainyard publish oci`. In the argument "dest", the text HOST stands for the address of the registry.
func (w *world) publish(t *testing.T, dest string, args ...string) result {
	t.Helper()
	return w.runPublish(t, "oci", dest, args...)
}

func (w *world) runPublish(t *testing.T, kind, dest string, args ...string) result {
	t.Helper()
	cmd := exec.Command(w.program, append([]string{"publish", kind, strings.ReplaceAll(dest, "HOST", w.host)}, args...)...)
	cmd.Dir = repo.Path(t)
	cmd.Env = append(os.Environ(), w.environment...)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), out.String(), stderr.String()}
}

func (w *world) mustPublish(t *testing.T, dest string, args ...string) []string {
	t.Helper()
	s := w.publish(t, dest, args...)
	if s.code != 0 {
		t.Fatalf("publishing to %s ended with exit code %d: %s", dest, s.code, s.err)
	}
	return strings.Fields(s.out)
}

func pull(t *testing.T, reference string) v1.Image {
	t.Helper()
	ref, err := name.ParseReference(reference)
	if err != nil {
		t.Fatal(err)
	}
	image, err := remote.Image(ref)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Image(image); err != nil {
		t.Errorf("%s: %v", reference, err)
	}
	return image
}

func artifactFiles(t *testing.T, image v1.Image) map[string]string {
	t.Helper()
	unpacked := mutate.Extract(image)
	defer func() { _ = unpacked.Close() }() // closing after reading loses no data
	found := map[string]string{}
	for archive := tar.NewReader(unpacked); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		found[header.Name] = string(text)
	}
}

// committedFiles returns the files in the folder bundles/rendered/acme/argocd/ENVIRONMENT/objects.
func committedFiles(t *testing.T, environment string) map[string]string {
	t.Helper()
	found := map[string]string{}
	objects := os.DirFS(repo.Path(t, "bundles", "rendered", "acme", "argocd", environment, "objects"))
	err := fs.WalkDir(objects, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(objects, file)
		found[file] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestRegistryServesPublishedArtifacts(t *testing.T) {
	w := startRegistry(t, repo.Build(t), nil)
	references := w.mustPublish(t, "oci://HOST/acme/platform", "-f", acmePath)
	if len(references) != 2 {
		t.Fatalf("published %v, want two environments", references)
	}
	for i, environment := range []string{"dev", "prod"} {
		if want := w.host + "/acme/platform:" + environment + "@sha256:"; !strings.HasPrefix(references[i], want) {
			t.Errorf("the reference is %s, want %s...", references[i], want)
		}
		image := pull(t, references[i])
		if diff := cmp.Diff(committedFiles(t, environment), artifactFiles(t, image)); diff != "" {
			t.Errorf("%s: -committed +served:\n%s", environment, diff)
		}
		byTag, _, _ := strings.Cut(references[i], "@")
		if digest, err := pull(t, byTag).Digest(); err != nil || !strings.HasSuffix(references[i], digest.String()) {
			t.Errorf("%s is %s, %v: want %s", byTag, digest, err, references[i])
		}
	}

	before := w.writes.Load()
	again := w.publish(t, "oci://HOST/acme/platform", "-f", acmePath)
	if diff := cmp.Diff(strings.Join(references, "\n")+"\n", again.out); diff != "" {
		t.Errorf("-first +again:\n%s", diff)
	}
	if w.writes.Load() != before || strings.Count(again.err, "is up to date and holds") != 2 {
		t.Errorf("the second publish sent %d write requests, want none, and printed:\n%s", w.writes.Load()-before, again.err)
	}
}

func TestOneEnvironmentHasTheTagOfTheCommandLine(t *testing.T) {
	w := startRegistry(t, repo.Build(t), nil)
	const revision = "org.opencontainers.image.revision"
	s := w.publish(t, "oci://HOST/acme/platform:v1.4", "-f", acmePath, "--env", "dev", "--annotation", revision+"=abc", "-o", "json")
	var published []struct{ Environment, Reference, Tag, Digest, Status string }
	if err := json.Unmarshal([]byte(s.out), &published); err != nil || len(published) != 1 {
		t.Fatalf("%v in %s%s", err, s.out, s.err)
	}
	if p := published[0]; p.Environment != "dev" || p.Tag != "v1.4" || p.Status != "published" || !strings.HasSuffix(p.Reference, ":v1.4@"+p.Digest) {
		t.Errorf("printed %+v", p)
	}
	manifest, err := pull(t, published[0].Reference).Manifest()
	if err != nil {
		t.Fatal(err)
	}
	if a := manifest.Annotations; a[revision] != "abc" || a["org.opencontainers.image.title"] != "acme-dev" || a["org.opencontainers.image.created"] != "" {
		t.Errorf("the annotations are %v", a)
	}
}

// TestDigestsAreTheSameEverywhere: the artifact of a platform has the same digest with --dry-run, in a registry and in
// a folder. The time zone, the language and the number of processors do not change the digest.
func TestDigestsAreTheSameEverywhere(t *testing.T) {
	program := repo.Build(t)
	surroundings := map[string][]string{
		"at home":     {"TZ=UTC", "LANG=C", "GOMAXPROCS=1", "TMPDIR=" + t.TempDir()},
		"far from it": {"TZ=Pacific/Kiritimati", "LANG=tr_TR.UTF-8", "GOMAXPROCS=8", "TMPDIR=" + t.TempDir()},
	}
	want := ""
	for where, environment := range surroundings {
		w := startRegistry(t, program, nil)
		w.environment = append(w.environment, environment...)
		layout := filepath.Join(t.TempDir(), "layout")
		for _, found := range [][]string{
			w.mustPublish(t, "oci://HOST/acme/platform", "-f", acmePath, "--env", "prod", "--dry-run"),
			w.mustPublish(t, "oci://HOST/acme/platform", "-f", acmePath, "--env", "prod"),
			w.mustPublish(t, "oci-layout:"+layout, "-f", acmePath, "--env", "prod"),
			w.mustPublish(t, "oci-layout:"+layout+":other", "-f", acmePath, "--env", "prod"),
		} {
			_, digest, _ := strings.Cut(strings.Join(found, " "), "@")
			if want == "" {
				want = digest
			}
			if digest != want || digest == "" {
				t.Errorf("%s: %v, want the digest %s", where, found, want)
			}
		}
	}
}
