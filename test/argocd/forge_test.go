package argocd

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/util/cert"
)

// forge is a Git server with a host name that is not in DNS. Clients reach the server through a proxy, and trust the
// server's certificate. Git's setting url.BASE.insteadOf could also redirect clients to the server. But Argo CD lists
// branches with a library that ignores this setting. Therefore the tests use a proxy.
type forge struct{ proxy, certificate string }

// newForge starts a forge that serves an empty repository at https://HOST/platform.git. The forge stops when the test
// ends.
func newForge(t *testing.T, host string) forge {
	t.Helper()
	public, private, err := cert.GenerateSelfSignedCertKey(host, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(public, private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certificate := filepath.Join(dir, "certificate.pem")
	if err := os.WriteFile(certificate, public, 0o600); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(newBare(t, filepath.Join(dir, "served")))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	proxy := httptest.NewServer(newConnector(host+":443", server.Listener.Addr().String()))
	t.Cleanup(proxy.Close)
	return forge{proxy: proxy.URL, certificate: certificate}
}

// newConnector returns a proxy for one host name. The proxy connects clients to the server at the given address, and
// refuses requests for all other host names.
func newConnector(name, address string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect || r.Host != name {
			http.Error(w, r.Host+" is not reachable through this proxy", http.StatusBadGateway)
			return
		}
		there, err := net.Dial("tcp", address)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer func() { _ = there.Close() }()
		here, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return // the client has closed the connection
		}
		defer func() { _ = here.Close() }()
		go func() { _, _ = io.Copy(there, here) }() // ends with the connection
		_, _ = io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n")
		_, _ = io.Copy(here, there)
	}
}
