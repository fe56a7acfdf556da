package fetch

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/trainyard/trainyard/test/gitserver"
)

// canary is a password that no error may contain.
const canary = "canary/ZvX9+secret 42"

// TestCredentials checks the error for each mistake in a Secret. If the client can find the mistake
// without the server, the client must send nothing to the server.
func TestCredentials(t *testing.T) {
	s := gitserver.New(t)
	s.Password, s.Token = canary, canary+"token"
	r, _ := newRepository(t, s)
	key := string(s.Identity())
	const listed = " of the Secret does not list the host %[1]s, so the credentials are not sent to this host: add %[1]s to the annotation, which lists hosts separated by commas"
	for name, tc := range map[string]struct {
		url, hosts string
		secret     map[string][]byte
		want       string // a format, whose argument is the host
		sends      bool
	}{
		"no Secret":             {s.HTTPS(r.Name), "", nil, "the server's certificate is signed by an unknown authority: put the certificate of the authority into ca.crt of the Secret", false},
		"no password":           {s.HTTP(r.Name), "", nil, "the server requires credentials (status 401): set spec.secretRef to a Secret with credentials", true},
		"only a webhook":        {s.HTTP(r.Name), "", values("webhook", canary), "the server requires credentials (status 401): set spec.secretRef to a Secret with credentials", true},
		"a webhook for ssh":     {s.SSH(r.Name), "+", values("webhook", canary), "the Secret has no entry named identity: ssh needs a private key there", false},
		"a wrong password":      {s.HTTP(r.Name), "+", values("username", gitserver.User, "password", canary+"2"), "the server refused the credentials in the Secret (status 401)", true},
		"a wrong user":          {s.HTTP(r.Name), "+", values("username", "other", "password", canary), "the server refused the credentials in the Secret (status 401)", true},
		"a wrong token":         {s.HTTP(r.Name), "+", values("bearerToken", canary), "the server refused the credentials in the Secret (status 401)", true},
		"no annotation":         {s.HTTP(r.Name), "", values("bearerToken", canary), "the annotation trainyard.dev/hosts" + listed, false},
		"another host":          {s.HTTP(r.Name), "git.example.com,127.0.0.1:1", values("bearerToken", canary), "the annotation trainyard.dev/hosts" + listed, false},
		"another port":          {s.HTTPS(r.Name), "127.0.0.1", values("bearerToken", canary), "the annotation trainyard.dev/hosts" + listed, false},
		"no password, but user": {s.HTTP(r.Name), "+", values("username", gitserver.User), "the Secret needs both username and password", false},
		"no user":               {s.HTTP(r.Name), "+", values("password", canary), "the Secret needs both username and password", false},
		"password and token":    {s.HTTP(r.Name), "+", values("username", "a", "password", canary, "bearerToken", canary), "the Secret has bearerToken, and also username or password: remove bearerToken, or remove username and password", false},
		"a user with a colon":   {s.HTTP(r.Name), "+", values("username", "a:b", "password", canary), "the username of the Secret must not contain a colon", false},
		"a header in the token": {s.HTTP(r.Name), "+", values("bearerToken", canary+"\r\nHost: evil"), "the credentials of the Secret must not contain line breaks or other control characters", false},
		"a key for https":       {s.HTTPS(r.Name), "+", values("identity", key, "known_hosts", string(s.KnownHosts())), "the Secret has no credentials for https: want the keys username and password, or bearerToken, or only ca.crt", false},
		"no certificate":        {s.HTTPS(r.Name), "+", values("bearerToken", canary, "ca.crt", "none"), "ca.crt of the Secret contains no certificate in PEM format", false},
		"a large value":         {s.HTTPS(r.Name), "+", values("bearerToken", canary, "ca.crt", strings.Repeat("x", maxValue+1)), `the entry "ca.crt" of the Secret is larger than 256 KiB`, false},
		"ssh without Secret":    {s.SSH(r.Name), "", nil, "spec.secretRef is missing: ssh needs a Secret with the entries identity and known_hosts", false},
		"many rounds of bcrypt": {s.SSH(r.Name), "+", values("identity", encrypted(t, 101), "known_hosts", "x", "password", canary), "the private key in the entry identity of the Secret needs more than 100 rounds of bcrypt: write the key again with ssh-keygen -p -a 100", false},
		"100 rounds of bcrypt":  {s.SSH(r.Name), "+", values("identity", encrypted(t, 100), "known_hosts", "x", "password", canary), "the private key in the entry identity of the Secret cannot be read: x509: decryption password incorrect", false},
		"a large private key":   {s.SSH(r.Name), "+", values("identity", strings.Repeat("x", 16<<10+1), "known_hosts", "x"), "the private key in the entry identity of the Secret is larger than 16 KiB", false},
		"ssh without a key":     {s.SSH(r.Name), "+", values("password", canary), "the Secret has no entry named identity: ssh needs a private key there", false},
		"ssh without hosts":     {s.SSH(r.Name), "+", values("identity", key), "the Secret has no entry named known_hosts: ssh needs the public key of the server there, for example from ssh-keyscan", false},
		"ssh with garbage":      {s.SSH(r.Name), "+", values("identity", canary, "known_hosts", "x"), "the private key in the entry identity of the Secret cannot be read: no key found", false},
	} {
		t.Run(name, func(t *testing.T) {
			host := hostOf(t, tc.url)
			before := s.Requests()
			request := Request{URL: tc.url, Secret: tc.secret, SecretHosts: strings.ReplaceAll(tc.hosts, "+", host)}
			_, err := newFetcher(t, Limits{}, s.HTTP(r.Name)).Fetch(t.Context(), request)
			want := tc.want
			if strings.Contains(want, "%[1]s") {
				want = fmt.Sprintf(want, host)
			}
			a, _ := parseAddress(tc.url)
			wantConfigError(t, err, "fetching "+a.String()+": "+want)
			wantNoCanary(t, err)
			if sent := s.Requests() > before; sent != tc.sends {
				t.Errorf("the server got a request: %t, want %t", sent, tc.sends)
			}
		})
	}
}

// wantNoCanary checks that no part of an error contains the canary password, in any of the forms in
// which the password is sent.
func wantNoCanary(t *testing.T, err error) {
	t.Helper()
	for ; err != nil; err = errors.Unwrap(err) {
		text := fmt.Sprintf("%v %+v %#v", err, err, err)
		for _, form := range []string{canary, "canary", base64.StdEncoding.EncodeToString([]byte("robot:" + canary)), "Y2FuYXJ5"} {
			if strings.Contains(text, form) {
				t.Errorf("the error contains %q: %s", form, text)
			}
		}
	}
}

// TestHosts checks which entries of the annotation trainyard.dev/hosts allow a URL.
func TestHosts(t *testing.T) {
	for _, tc := range []struct {
		url, hosts string
		want       bool
	}{
		{"https://git.example.com/a", "git.example.com", true},
		{"https://GIT.example.com/a", " other.example , Git.Example.Com ", true},
		{"https://git.example.com/a", "git.example.com:443", true},
		{"https://git.example.com:8443/a", "git.example.com:8443", true},
		{"https://git.example.com:8443/a", "git.example.com", false},
		{"https://git.example.com/a", "example.com", false},
		{"https://git.example.com/a", "*.example.com", false},
		{"https://git.example.com/a", "git.example.com.evil.example", false},
		{"https://git.example.com/a", "", false},
		{"ssh://git.example.com/a", "git.example.com", true},
		{"ssh://git.example.com:2222/a", "git.example.com", false},
		{"ssh://git.example.com:2222/a", "git.example.com:2222", true},
		{"http://git.example.com/a", "git.example.com", false},
		{"http://git.example.com/a", "git.example.com:80", true},
		{"https://[2001:db8::1]/a", "[2001:db8::1]", true},
		{"https://[2001:db8::1]:8443/a", "[2001:db8::1]:8443", true},
	} {
		a, err := parseAddress(tc.url)
		check(t, err)
		if got := a.isListed(tc.hosts); got != tc.want {
			t.Errorf("%s is listed in %q: %t, want %t", tc.url, tc.hosts, got, tc.want)
		}
		if !a.isListed(a.hostsEntry()) {
			t.Errorf("%s is not listed in its own entry %q", tc.url, a.hostsEntry())
		}
	}
}

// TestA8Redirects checks that credentials are not sent to another server after a redirect.
func TestA8Redirects(t *testing.T) {
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the other server got %s with Authorization %q", r.URL, r.Header.Get("Authorization"))
	}))
	t.Cleanup(thief.Close)
	s := gitserver.New(t)
	s.Password = canary
	r, commit := newRepository(t, s)
	to := ""
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if target, isGit := strings.CutPrefix(request.URL.Path, "/"+r.Name+"/"); isGit {
			forward(w, request, s.HTTP(r.Name)+"/"+target)
			return
		}
		http.Redirect(w, request, to, http.StatusFound)
	}))
	t.Cleanup(front.Close)
	const list = "/info/refs?service=git-upload-pack"
	secret := values("username", gitserver.User, "password", canary)
	for name, tc := range map[string]struct{ to, want string }{
		"another host":       {strings.Replace(thief.URL, "127.0.0.1", "localhost", 1) + list, "the server redirects to " + strings.Replace(thief.URL, "127.0.0.1", "localhost", 1) + ": redirects to another server are not followed, so set spec.url to the new address"},
		"another port":       {thief.URL + list, "the server redirects to " + thief.URL + ": redirects to another server are not followed, so set spec.url to the new address"},
		"another scheme":     {strings.Replace(front.URL, "http", "https", 1) + list, "the server redirects to https://" + front.URL[7:] + ": redirects to another server are not followed, so set spec.url to the new address"},
		"a file":             {"file:///etc/passwd", "the server redirects to file://: redirects to another server are not followed, so set spec.url to the new address"},
		"a user":             {strings.Replace(front.URL, "http://", "http://a:b@", 1) + list, "the server redirects to " + front.URL + ": redirects to another server are not followed, so set spec.url to the new address"},
		"itself":             {"/loop" + list, "the server redirects more than 3 times"},
		"a page for people":  {"/" + r.Name + "/HEAD", "the server did not answer with the Git protocol, but with Content-Type \"text/plain\": check that spec.url is the URL of a Git repository"},
		"the new repository": {"/" + r.Name + list, ""},
	} {
		t.Run(name, func(t *testing.T) {
			to = tc.to
			got, err := newFetcher(t, Limits{}, front.URL+"/a").Fetch(t.Context(), Request{URL: front.URL + "/old.git", Secret: secret, SecretHosts: front.URL[7:]})
			if tc.want == "" {
				if err != nil || got.Commit != commit || got.Files == nil {
					t.Errorf("got %+v, error %v", got, err)
				}
				return
			}
			wantConfigError(t, err, "fetching "+front.URL+"/old.git: "+tc.want)
		})
	}
}

func forward(w http.ResponseWriter, request *http.Request, url string) {
	next, err := http.NewRequestWithContext(request.Context(), request.Method, url+"?"+request.URL.RawQuery, request.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	next.Header, next.ContentLength = request.Header, request.ContentLength
	response, err := http.DefaultClient.Do(next)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer func() { _ = response.Body.Close() }()
	w.Header().Set("Content-Type", response.Header.Get("Content-Type"))
	w.WriteHeader(response.StatusCode)
	_, _ = io.Copy(w, response.Body)
}

// TestA8Echoes checks that no error contains the credentials if the server sends them back. Other users can read the
// error in the status of the TrainJobSource.
func TestA8Echoes(t *testing.T) {
	echo := func(r *http.Request) string {
		_, password, _ := r.BasicAuth()
		return password + " " + r.Header.Get("Authorization")
	}
	for name, l := range map[string]liar{
		"in an error": {list: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
			_, _ = io.WriteString(w, line("ERR "+echo(r)))
		}},
		"in a type": {list: func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Content-Type", echo(r)) }},
		"in the lines": {list: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
			_, _ = io.WriteString(w, line(echo(r)+strings.Repeat(" ", 40)))
		}},
		"in the protocol": {list: func(w http.ResponseWriter, r *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.WriteString(conn, echo(r)+"\r\n")
			_ = conn.(*net.TCPConn).CloseWrite()
			waitForClient(conn)
		}},
		"in a redirect": {list: func(w http.ResponseWriter, r *http.Request) {
			_, password, _ := r.BasicAuth()
			http.Redirect(w, r, "https://evil.example/"+password+"?"+r.Header.Get("Authorization"), http.StatusFound)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			url := l.start(t)
			request := Request{URL: url, Secret: values("username", gitserver.User, "password", canary), SecretHosts: hostOf(t, url)}
			_, err := newFetcher(t, Limits{}, url).Fetch(t.Context(), request)
			if err == nil {
				t.Error("no error")
			}
			wantNoCanary(t, err)
		})
	}
}

// encrypted returns an encrypted private key. According to the key, its decryption needs the given number of rounds of
// bcrypt. The package ssh encrypts the key with 16 rounds. The function "encrypted" then writes the given number into
// the key. If this number is not 16, no password can decrypt the key.
func encrypted(t *testing.T, rounds uint32) string {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	check(t, err)
	block, err := ssh.MarshalPrivateKeyWithPassphrase(key, "", []byte("password"))
	check(t, err)
	const function, saltBytes = "bcrypt", 16
	// In the private key, the name "bcrypt" is followed by the length of the options, the length of the salt, the
	// salt, and the number of rounds.
	at := bytes.Index(block.Bytes, []byte(function)) + len(function) + 4 + 4 + saltBytes
	binary.BigEndian.PutUint32(block.Bytes[at:], rounds)
	return string(pem.EncodeToMemory(block))
}
