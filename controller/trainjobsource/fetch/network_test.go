package fetch

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestA6URLs: no part of an accepted URL can become an option or a command on the server.
func TestA6URLs(t *testing.T) {
	const (
		credentialsInURL = "spec.url must not contain a password, and may contain a user name only if it starts with ssh://: put the credentials into the Secret of spec.secretRef"
		scheme           = "spec.url: want an address that starts with https:// or ssh://"
		host             = "the host or the user name in spec.url is missing or invalid"
		path             = "spec.url: the path may contain only letters, digits, spaces and ._~/%+@-, and must not contain a folder named .."
		query            = "spec.url must not contain ? or #, and // must follow the first colon"
	)
	for text, want := range map[string]string{
		"https://git.example.com/team/jobs.git":       "",
		"https://GIT.example.com:8443/team/jobs/":     "",
		"https://[2001:db8::1]/jobs":                  "",
		"ssh://git.example.com/~team/jobs.git":        "",
		"ssh://robot@git.example.com:2222/jobs.git":   "",
		"https://robot:secret@git.example.com/jobs":   credentialsInURL,
		"https://robot@git.example.com/jobs":          credentialsInURL,
		"ssh://git:secret@git.example.com/jobs":       credentialsInURL,
		"git.example.com:jobs.git":                    scheme,
		"git@git.example.com:jobs.git":                scheme,
		"git://git.example.com/jobs":                  scheme,
		"file:///etc/passwd":                          scheme,
		"/etc":                                        scheme,
		"ext::sh -c id":                               scheme,
		"ftp://git.example.com/jobs":                  scheme,
		"ssh://-oProxyCommand=id/jobs":                host,
		"ssh://-oProxyCommand@git.example.com/jobs":   host,
		"https:///jobs":                               host,
		"https://git.example.com":                     path,
		"https://git.example.com/":                    path,
		"ssh://git.example.com/jobs'%3Bid'":           path,
		"ssh://git.example.com/jobs%27;id%27":         path,
		"ssh://git.example.com/$(id)":                 path,
		"ssh://git.example.com/`id`":                  path,
		"ssh://git.example.com/a%0ab":                 path,
		"https://git.example.com/a/../../b":           path,
		"https://git.example.com/a/%2e%2e/b":          path,
		"https://git.example.com/jobs?service=id":     query,
		"https://git.example.com/jobs#main":           query,
		"https://git.example.com\r\nHost: evil/jobs":  scheme,
		"https://git.example.com:port/jobs":           scheme,
		"https://git.example.com%2f@evil.example/job": credentialsInURL,
	} {
		t.Run(text, func(t *testing.T) {
			got := ""
			if _, err := parseAddress(text); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestA7OwnAddresses checks that the controller connects to an address of its own machine only if the configuration
// allows the address.
func TestA7OwnAddresses(t *testing.T) {
	own, err := net.InterfaceAddrs()
	if err != nil || len(own) == 0 {
		t.Fatalf("the machine has the addresses %v, error %v", own, err)
	}
	for _, one := range own {
		a := netip.MustParsePrefix(one.String()).Addr()
		if (Network{}).allows(a) {
			t.Errorf("%s is allowed", a)
		}
		if n := (Network{Allow: []netip.Prefix{netip.PrefixFrom(a, a.BitLen())}}); !n.allows(a) {
			t.Errorf("%s is refused although the configuration allows it", a)
		}
	}
}

func TestA7Addresses(t *testing.T) {
	n := Network{
		Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32"), netip.MustParsePrefix("10.96.0.7/32")},
		Deny:  []netip.Prefix{netip.MustParsePrefix("10.96.0.0/12")},
	}
	for text, want := range map[string]bool{
		"93.184.216.34": true, "10.0.0.1": true, "192.168.1.1": true, "2001:db8::1": true, "fd12::1": true,
		"127.0.0.1": false, "127.9.9.9": false, "::1": false, "0.0.0.0": false, "0.1.2.3": false, "::": false,
		"169.254.169.254": false, "fe80::1": false, "fe80::1%eth0": false, "fd00:ec2::254": false, "100.100.100.200": false,
		"fd00:ec2::23": false, "fd20:ce::254": false, "fd00:c1::a9fe:a9fe": false,
		"224.0.0.1": false, "ff02::1": false, "255.255.255.255": false,
		"::ffff:127.0.0.1": false, "::ffff:169.254.169.254": false, "64:ff9b::a9fe:a9fe": false, "64:ff9b::5db8:d822": true, "::127.0.0.1": false,
		"127.0.0.2": true, "::ffff:127.0.0.2": true, "10.96.0.1": false, "10.111.0.1": false, "10.96.0.7": true, "64:ff9b::a60:1": false,
	} {
		if got := n.allows(netip.MustParseAddr(text)); got != want {
			t.Errorf("allows(%s) = %t, want %t", text, got, want)
		}
	}
}

// TestA7RefusedServers checks that no connection is made to a refused server, whatever its URL looks like.
func TestA7RefusedServers(t *testing.T) {
	asked := false
	url := liar{list: func(http.ResponseWriter, *http.Request) { asked = true }}.start(t)
	host := hostOf(t, url)
	port := host[len("127.0.0.1"):]
	f, err := New(Options{Network: Network{PlainHTTPHosts: []string{host, "localhost" + port, "[::ffff:7f00:1]" + port}}})
	check(t, err)
	const refused = ", to which the controller may not connect: use another server, or ask an admin of the cluster to allow this address with --allow-address"
	for request, want := range map[string]string{
		url:                                    "the host has the address 127.0.0.1" + refused,
		"http://[::ffff:7f00:1]" + port + "/a": "the host has the address 127.0.0.1" + refused,
		"https://169.254.169.254/latest":       "the host has the address 169.254.169.254" + refused,
		"http://169.254.169.254/latest":        "spec.url: http is not encrypted, and the controller's configuration does not allow it for 169.254.169.254:80: use https or ssh",
		"http://git.example.com/jobs":          "spec.url: http is not encrypted, and the controller's configuration does not allow it for git.example.com:80: use https or ssh",
	} {
		_, err := f.Fetch(t.Context(), Request{URL: request})
		a, _ := parseAddress(request)
		wantConfigError(t, err, "fetching "+a.String()+": "+want)
	}
	_, err = f.Fetch(t.Context(), Request{URL: "http://localhost" + port + "/a"}) // has the address 127.0.0.1 or ::1
	if config := (*ConfigError)(nil); !errors.As(err, &config) || !strings.HasSuffix(err.Error(), refused) {
		t.Errorf("localhost: %v", err)
	}
	if asked {
		t.Error("a refused server got a request")
	}
}

// TestNoProxy: the client must ignore the proxy in the environment variables, because this proxy would get the requests
// with their credentials.
func TestNoProxy(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	transport := newHTTPRemote(address{}, credentials{}, dialer{}, 0).client.Transport.(*http.Transport)
	if transport.Proxy != nil {
		t.Error("the client uses a proxy")
	}
}

func TestNames(t *testing.T) {
	f := newFetcher(t, Limits{})
	_, err := f.Fetch(t.Context(), Request{URL: "https://git.invalid/jobs.git"})
	want := []string{"fetching https://git.invalid/jobs.git: the name git.invalid does not exist", "fetching https://git.invalid/jobs.git: the name git.invalid cannot be resolved at the moment"}
	if err == nil || (err.Error() != want[0] && err.Error() != want[1]) {
		t.Errorf("got %v, want %q or, without a name server, %q", err, want[0], want[1])
	}
}

// TestExpiredCertificate: the message about an expired certificate must not contain the current time, because the status of
// the TrainJobSource would then change at each attempt.
func TestExpiredCertificate(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	server := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC), NotAfter: time.Date(2021, 1, 2, 3, 4, 5, 0, time.UTC),
	}
	text, err := x509.CreateCertificate(rand.Reader, server, server, &key.PublicKey, key)
	check(t, err)
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{text}, PrivateKey: key}}, MinVersion: tls.VersionTLS12}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	url := s.URL + "/jobs"
	authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: text}))
	_, err = newFetcher(t, Limits{}).Fetch(t.Context(), Request{URL: url, Secret: values("ca.crt", authority), SecretHosts: hostOf(t, url)})
	want := "fetching " + url + ": the server's certificate is valid only from 2020-01-02T03:04:05Z to 2021-01-02T03:04:05Z"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
