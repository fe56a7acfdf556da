package oci

import (
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/trainyard/trainyard/test/repo"
)

// useProxy starts a proxy, and makes the program use it. The proxy connects every request of the program to the
// server. useProxy also sets w.host to example.com, because the certificates of httptest are valid for this host
// name.
func useProxy(t *testing.T, w *world, server *httptest.Server) {
	t.Helper()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodConnect {
			connectTunnel(w, server.Listener.Addr().String())
			return
		}
		server.Config.Handler.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	w.host = "example.com"
	w.environment = append(w.environment, "HTTPS_PROXY="+proxy.URL, "HTTP_PROXY="+proxy.URL, "NO_PROXY=")
}

func connectTunnel(w http.ResponseWriter, address string) {
	server, err := net.Dial("tcp", address)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer func() { _ = server.Close() }() // an error means that the connection is already closed
	w.WriteHeader(http.StatusOK)
	client, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer func() { _ = client.Close() }() // an error means that the connection is already closed
	go func() {
		_, _ = io.Copy(server, client) // ends when the client or the server closes the connection
		_ = server.Close()
	}()
	_, _ = io.Copy(client, server) // ends when the client or the server closes the connection
}

func quietRegistry() http.Handler { return registry.New(registry.Logger(log.New(io.Discard, "", 0))) }

// TestCertificates checks that the program refuses an unknown certificate, and trusts a certificate in SSL_CERT_FILE.
func TestCertificates(t *testing.T) {
	w := startRegistry(t, repo.Build(t), nil)
	server := httptest.NewUnstartedServer(quietRegistry())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	useProxy(t, w, server)
	expectFailure(t, w.publish(t, "oci://HOST/acme/platform", "--example", "minimal"), 1, "this machine does not trust the issuer of the registry's certificate: set the environment variable SSL_CERT_FILE to a file with the issuer's certificate")

	file := filepath.Join(t.TempDir(), "ca.crt")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	w.environment = append(w.environment, "SSL_CERT_FILE="+file)
	if found := w.mustPublish(t, "oci://HOST/acme/platform", "--example", "minimal"); !strings.HasPrefix(found[0], "example.com/acme/platform:latest@") {
		t.Errorf("published %v", found)
	}
}

// TestPlainHTTPNeedsAFlag checks that --plain-http is required for registries that have no TLS and are outside
// private networks.
func TestPlainHTTPNeedsAFlag(t *testing.T) {
	w := startRegistry(t, repo.Build(t), nil)
	server := httptest.NewServer(quietRegistry())
	t.Cleanup(server.Close)
	useProxy(t, w, server)
	expectFailure(t, w.publish(t, "oci://HOST/acme/platform", "--example", "minimal"), 1, "the registry does not use TLS: if that is intended, allow it with --plain-http")
	w.mustPublish(t, "oci://HOST/acme/platform", "--example", "minimal", "--plain-http")
}
