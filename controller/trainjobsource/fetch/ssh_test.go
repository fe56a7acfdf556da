package fetch

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/pem"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/trainyard/trainyard/test/gitserver"
)

// newPublicKey returns a host key that is not the server's key. The argument "sameType" says whether the returned key
// and the server's key have the same type.
func newPublicKey(t *testing.T, sameType bool) ssh.PublicKey {
	t.Helper()
	if sameType {
		public, _, err := ed25519.GenerateKey(rand.Reader)
		check(t, err)
		key, err := ssh.NewPublicKey(public)
		check(t, err)
		return key
	}
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	key, err := ssh.NewPublicKey(&private.PublicKey)
	check(t, err)
	return key
}

func newIdentity(t *testing.T, password string) string {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	check(t, err)
	block, err := ssh.MarshalPrivateKey(key, "")
	if password != "" {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(key, "", []byte(password))
	}
	check(t, err)
	return string(pem.EncodeToMemory(block))
}

// TestA25HostKeys checks which contents of known_hosts allow a connection. The server's port is not 22, so
// known_hosts must contain the port.
func TestA25HostKeys(t *testing.T) {
	s := gitserver.New(t)
	r, _ := newRepository(t, s)
	host := hostOf(t, s.SSH(r.Name))
	name := knownhosts.Normalize(host)
	key := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(s.HostKey())))
	wrong := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(newPublicKey(t, true))))
	otherType := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(newPublicKey(t, false))))
	const changed = "the host key of %s is not the key in known_hosts of the Secret: somebody may be intercepting the connection, or the server has a new key"
	for label, tc := range map[string]struct{ hosts, want string }{
		"the key":                       {name + " " + key, ""},
		"a comment and another host":    {"# hosts\n\ngit.example.com " + wrong + "\n" + name + " " + key + " robot", ""},
		"several names":                 {"git.example.com," + name + " " + key, ""},
		"a hashed name":                 {knownhosts.HashHostname(name) + " " + key, ""},
		"a pattern":                     {strings.Replace(name, "0.1]", "0.*]", 1) + " " + key, ""},
		"two keys":                      {name + " " + otherType + "\n" + name + " " + key, ""},
		"another key":                   {name + " " + wrong, changed},
		"another key, hashed":           {knownhosts.HashHostname(name) + " " + wrong, changed},
		"only another type":             {name + " " + otherType, "server %s and the controller have no common SSH algorithm (known_hosts of the Secret may lack the type of the server's host key): ssh: no common algorithm for host key; we offered: [ecdsa-sha2-nistp256], peer offered: [ssh-ed25519]"},
		"another port":                  {"[127.0.0.1]:1 " + key, "known_hosts of the Secret has no key for " + name},
		"no port":                       {"127.0.0.1 " + key, "known_hosts of the Secret has no key for " + name},
		"another host":                  {"git.example.com " + key, "known_hosts of the Secret has no key for " + name},
		"a negated name":                {"*,!" + name + " " + key, "known_hosts of the Secret has no key for " + name},
		"a revoked key":                 {"@revoked * " + key + "\n" + name + " " + key, "the host key of %s is revoked in known_hosts of the Secret"},
		"a revoked key, at the end":     {name + " " + key + "\n@revoked " + name + " " + key, "the host key of %s is revoked in known_hosts of the Secret"},
		"a revoked key, other host":     {name + " " + key + "\n@revoked git.example.com " + key, "the host key of %s is revoked in known_hosts of the Secret"},
		"an authority that never signs": {"@cert-authority " + name + " " + key, "server %s and the controller have no common SSH algorithm (known_hosts of the Secret may lack the type of the server's host key): ssh: no common algorithm for host key; we offered: [ssh-ed25519-cert-v01@openssh.com], peer offered: [ssh-ed25519]"},
		"an empty file":                 {"\n", "known_hosts of the Secret has no key for " + name},
		"garbage":                       {name + " ssh-ed25519 garbage", "known_hosts of the Secret is invalid: knownhosts: line:1: illegal base64 data at input byte 4"},
	} {
		t.Run(label, func(t *testing.T) {
			f := newFetcher(t, Limits{})
			secret := values("identity", string(s.Identity()), "known_hosts", tc.hosts)
			got, err := f.Fetch(t.Context(), Request{URL: s.SSH(r.Name), Secret: secret, SecretHosts: host})
			if tc.want == "" && (err != nil || got.Files == nil) {
				t.Errorf("got %+v, error %v", got, err)
			} else if tc.want != "" {
				wantConfigError(t, err, "fetching ssh://"+host+"/jobs.git: "+strings.ReplaceAll(tc.want, "%s", host))
			}
			if left, err := os.ReadDir(f.options.Folder); err != nil || len(left) > 0 {
				t.Errorf("temporary files are left: %v, error %v", left, err)
			}
		})
	}
}

func TestIdentities(t *testing.T) {
	s := gitserver.New(t)
	r, _ := newRepository(t, s)
	host := hostOf(t, s.SSH(r.Name))
	encrypted := newIdentity(t, canary)
	const refused = "the server refused the login of user git with the private key in the Secret"
	for name, tc := range map[string]struct{ identity, password, want string }{
		"another key":      {newIdentity(t, ""), "", refused},
		"encrypted":        {encrypted, canary, refused},
		"a wrong password": {encrypted, "other", "the private key in the entry identity of the Secret cannot be read: x509: decryption password incorrect"},
		"no password":      {encrypted, "", "the private key in the entry identity of the Secret cannot be read: this private key is passphrase protected"},
	} {
		t.Run(name, func(t *testing.T) {
			secret := values("identity", tc.identity, "known_hosts", string(s.KnownHosts()))
			if tc.password != "" {
				secret["password"] = []byte(tc.password)
			}
			_, err := newFetcher(t, Limits{}).Fetch(t.Context(), Request{URL: s.SSH(r.Name), Secret: secret, SecretHosts: host})
			wantConfigError(t, err, "fetching ssh://"+host+"/jobs.git: "+tc.want)
			wantNoCanary(t, err)
		})
	}
}

// TestRefsOfSecondSession: each SSH session begins with the server's list of branches and tags. If the first session
// was already used, the method "exchange" starts a second session. Limits.Refs must also limit the list at the
// beginning of the second session. The test calls "exchange" without a first session. In this case, "exchange" runs the
// same code as for the second session: "exchange" starts a session, and limits the list of this session.
func TestRefsOfSecondSession(t *testing.T) {
	s := gitserver.New(t)
	r, _ := newRepository(t, s)
	a, err := parseAddress(s.SSH(r.Name))
	check(t, err)
	c, err := readSSHCredentials(values("identity", string(s.Identity()), "known_hosts", string(s.KnownHosts())))
	check(t, err)
	d := dialer{Network{Allow: loopback}, &budget{limit: DefaultLimits.Received}}
	server, err := newSSHRemote(t.Context(), a, c, d, t.TempDir(), Limits{Refs: 100, Answer: DefaultLimits.Answer})
	check(t, err)
	t.Cleanup(server.close)
	const want = "the server's list of branches and tags is larger than 100 bytes"
	if _, err := server.exchange(t.Context(), []byte("0000")); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestUploadCommand compares the commands that uploadCommand returns with the commands that git itself runs.
func TestUploadCommand(t *testing.T) {
	for url, want := range map[string]string{
		"ssh://git.example.com/jobs.git":       "git-upload-pack '/jobs.git'",
		"ssh://git.example.com/~/jobs.git":     "git-upload-pack '~/jobs.git'",
		"ssh://git.example.com/~team/jobs.git": "git-upload-pack '~team/jobs.git'",
		"ssh://git.example.com/a/~team/jobs":   "git-upload-pack '/a/~team/jobs'",
	} {
		git := exec.CommandContext(t.Context(), "git", "ls-remote", url)
		git.Env = append(os.Environ(), "GIT_SSH_VARIANT=simple", "GIT_SSH_COMMAND=f() { echo \"$2\" >&2; exit 1; }; f")
		output, _ := git.CombinedOutput() // git fails, because the command in GIT_SSH_COMMAND only prints the command
		if first, _, _ := strings.Cut(string(output), "\n"); first != want {
			t.Fatalf("git runs %q, want %q", output, want)
		}
		a, err := parseAddress(url)
		check(t, err)
		if got := uploadCommand(a.path); got != want {
			t.Errorf("%s: got %q, want %q", url, got, want)
		}
	}
}

func TestA17LyingSSHServer(t *testing.T) {
	for name, tc := range map[string]struct {
		serve func(conn net.Conn)
		want  string
	}{
		"silence":                  {waitForClient, "the server did not finish the SSH handshake in time"},
		"garbage":                  {func(conn net.Conn) { repeat(conn, noise(1000)) }, "overflow reading version string"},
		"lines without end":        {func(conn net.Conn) { repeat(conn, strings.Repeat("hello\r\n", 1000)) }, "overflow reading version string"},
		"a packet without end":     {func(conn net.Conn) { repeatAfter(conn, "SSH-2.0-x\r\n\x7f\xff\xff\xff\x04", "x") }, "invalid packet length, packet too large"},
		"packets without end":      {func(conn net.Conn) { repeatAfter(conn, "SSH-2.0-x\r\n", "\x00\x00\x00\x0c\x0a\x02xxxxxxxxxx") }, "the server sent more than 1 MiB"},
		"a connection that closes": {func(conn net.Conn) { _, _ = io.WriteString(conn, "SSH-2.0-x\r\n") }, "the server closed the connection during the SSH handshake"},
	} {
		t.Run(name, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			check(t, err)
			t.Cleanup(func() { _ = listener.Close() })
			go func() {
				conn, err := listener.Accept()
				if err == nil {
					tc.serve(conn)
					_ = conn.Close()
				}
			}()
			host := listener.Addr().String()
			hosts := knownhosts.Line([]string{host}, newPublicKey(t, true))
			secret := values("identity", newIdentity(t, ""), "known_hosts", hosts)
			_, err = newFetcher(t, small).Fetch(t.Context(), Request{URL: "ssh://" + host + "/jobs.git", Secret: secret, SecretHosts: host})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want an error with %q", err, tc.want)
			}
		})
	}
}
