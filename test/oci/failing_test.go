package oci

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/trainyard/trainyard/test/repo"
)

func isUpload(r *http.Request) bool {
	return r.Method == http.MethodPatch || r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/blobs/")
}

// respondSome wraps the handler of a registry. If the function "some" returns true for a request, the handler "answer"
// responds instead of the registry.
func respondSome(some func(*http.Request) bool, answer http.HandlerFunc) func(http.Handler) http.Handler {
	return func(inner http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if some(r) {
				answer(w, r)
				return
			}
			inner.ServeHTTP(w, r)
		})
	}
}

func registryError(status int, code, message string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"errors": [{"code": %q, "message": %q}]}`, code, message) // an error means that the client hung up
	}
}

func hangUp(w http.ResponseWriter, r *http.Request) {
	_, _ = r.Body.Read(make([]byte, 100)) // read only the first part of the request
	if connection, _, err := w.(http.Hijacker).Hijack(); err == nil {
		_ = connection.Close()
	}
}

func everything(*http.Request) bool { return true }

func manifests(r *http.Request) bool {
	return r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/manifests/")
}

// TestRegistriesThatFail checks that each failure of a registry causes one line of output and the documented exit
// code. After the failure, the tag must not exist in the registry.
func TestRegistriesThatFail(t *testing.T) {
	program := repo.Build(t)
	cases := map[string]struct {
		around  func(http.Handler) http.Handler
		args    []string
		code    int
		message string
	}{
		"uploads that end in an error":     {respondSome(isUpload, registryError(500, "UNKNOWN", "disk\nfull")), nil, 1, "the registry responds with 500 Internal Server Error: disk full"},
		"uploads that are cut off":         {respondSome(isUpload, hangUp), nil, 1, "cannot reach the registry: "},
		"uploads that arrive in part":      {truncateUploads, nil, 1, "the registry responds with 400 Bad Request: "},
		"a manifest that is refused":       {respondSome(manifests, registryError(503, "UNAVAILABLE", "later")), nil, 1, "the registry responds with 503 Service Unavailable: later"},
		"an HTML page":                     {respondSome(everything, page), nil, 1, "502 Bad Gateway"},
		"no credentials":                   {respondSome(everything, registryError(401, "UNAUTHORIZED", "authentication required")), nil, 5, "log in with docker login HOST"},
		"credentials that may not push":    {respondSome(isUpload, registryError(403, "DENIED", "read only")), nil, 5, "the registry forbids the upload (403 Forbidden: read only)"},
		"a repository that does not exist": {respondSome(func(r *http.Request) bool { return r.Method == http.MethodPost }, registryError(404, "NAME_UNKNOWN", "no such repository")), nil, 1, "create the repository there"},
		"an artifact that is too large":    {respondSome(isUpload, registryError(413, "SIZE_INVALID", "at most 1 kB")), nil, 1, "the artifact is too large for the registry (413 Request Entity Too Large: at most 1 kB)"},
		"a registry that never answers":    {respondSome(everything, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }), []string{"--timeout", "2s"}, 8, "the timeout expired"},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			w := startRegistry(t, program, tc.around)
			s := w.publish(t, "oci://HOST/acme/platform", append(tc.args, "--example", "minimal")...)
			expectFailure(t, s, tc.code, strings.ReplaceAll(tc.message, "HOST", w.host))
			tag, err := name.NewTag(w.host + "/acme/platform:latest")
			if err != nil {
				t.Fatal(err)
			}
			if title == "a registry that never answers" {
				return
			}
			if _, err := remote.Head(tag); err == nil {
				t.Error("the registry has the tag, want no tag")
			}
		})
	}
}

func expectFailure(t *testing.T, s result, code int, message string) {
	t.Helper()
	if s.code != code || s.out != "" {
		t.Errorf("exit code %d, standard output %q: want %d and nothing", s.code, s.out, code)
	}
	if strings.Count(s.err, "\n") != 1 || !strings.Contains(s.err, message) {
		t.Errorf("standard error is\n%swant one line with %q", s.err, message)
	}
}

func page(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusBadGateway)
	_, _ = fmt.Fprint(w, "<html>\n<body>\x1b[31mproxy\n", strings.Repeat("x", 100_000)) // an error means that the client hung up
}

func truncateUploads(inner http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isUpload(r) && r.ContentLength != 0 {
			r.Body = http.MaxBytesReader(nil, r.Body, 10)
			half := make([]byte, 10)
			n, _ := r.Body.Read(half) // ten bytes at most
			r.Body, r.ContentLength = readCloser{strings.NewReader(string(half[:n]))}, int64(n)
		}
		inner.ServeHTTP(w, r)
	})
}

type readCloser struct{ *strings.Reader }

func (readCloser) Close() error { return nil }

// TestCredentials checks that the program uses the credentials that docker login or podman login has stored.
func TestCredentials(t *testing.T) {
	program := repo.Build(t)
	guarded := respondSome(func(r *http.Request) bool {
		user, password, _ := r.BasicAuth()
		return user != "acme" || password != "secret"
	}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("WWW-Authenticate", `Basic realm="acme"`)
		registryError(http.StatusUnauthorized, "UNAUTHORIZED", "who are you?")(w, r)
	})
	for title, variable := range map[string]string{"docker": "DOCKER_CONFIG=", "podman": "REGISTRY_AUTH_FILE="} {
		t.Run(title, func(t *testing.T) {
			w := startRegistry(t, program, guarded)
			s := w.publish(t, "oci://HOST/acme/platform", "--example", "minimal")
			expectFailure(t, s, 5, "log in with docker login "+w.host)

			dir := t.TempDir()
			file := filepath.Join(dir, "config.json")
			text := fmt.Sprintf(`{"auths": {%q: {"auth": %q}}}`, w.host, base64.StdEncoding.EncodeToString([]byte("acme:secret")))
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if title == "podman" {
				dir = file
			}
			w.environment = append(w.environment, variable+dir)
			w.mustPublish(t, "oci://HOST/acme/platform", "--example", "minimal")
		})
	}
}
