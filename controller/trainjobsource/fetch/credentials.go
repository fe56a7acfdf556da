package fetch

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"strings"
	"unicode"

	"golang.org/x/crypto/ssh"

	"github.com/trainyard/trainyard/api/v1alpha1"
)

// credentials holds the checked values of the Secret with the credentials for a repository.
type credentials struct {
	username, password string // for https
	token              string
	roots              *x509.CertPool // for https; nil means the certificate authorities of the system
	identity           ssh.Signer     // for ssh
	knownHosts         []byte
}

// maxValue is the maximum size of each value of a Secret, in bytes. Without this limit, large values
// could keep some parsers of keys busy for a long time.
const maxValue = 256 << 10

// readCredentials checks the Secret of a repository, and returns the credentials in the Secret.
func readCredentials(a address, r Request) (credentials, error) {
	switch {
	case r.Secret == nil && a.scheme == "ssh":
		return credentials{}, configErrorf("spec.secretRef is missing: ssh needs a Secret with the entries identity and known_hosts")
	case r.Secret == nil, a.scheme != "ssh" && hasOnlyWebhook(r.Secret):
		return credentials{}, nil
	case !a.isListed(r.SecretHosts):
		return credentials{}, configErrorf("the annotation trainyard.dev/hosts of the Secret does not list the host %[1]s, so the credentials are not sent to this host: add %[1]s to the annotation, which lists hosts separated by commas", a.hostsEntry())
	}
	for key, value := range r.Secret {
		if len(value) > maxValue {
			return credentials{}, configErrorf("the entry %q of the Secret is larger than %s", key, size(maxValue))
		}
	}
	if a.scheme == "ssh" {
		return readSSHCredentials(r.Secret)
	}
	return readHTTPCredentials(r.Secret)
}

// hasOnlyWebhook reports whether a Secret contains only the secret of a webhook, which is never sent to the Git server.
// Such a Secret is valid for a public repository, which needs no credentials.
func hasOnlyWebhook(secret map[string][]byte) bool {
	_, has := secret[v1alpha1.WebhookKey]
	return has && len(secret) == 1
}

func readHTTPCredentials(secret map[string][]byte) (c credentials, err error) {
	c.username, c.password, c.token = text(secret, "username"), text(secret, "password"), text(secret, "bearerToken")
	authority, hasAuthority := secret["ca.crt"]
	switch {
	case c.username+c.password == "" && c.token == "" && !hasAuthority:
		return c, configErrorf("the Secret has no credentials for https: want the keys username and password, or bearerToken, or only ca.crt")
	case c.username+c.password != "" && c.token != "":
		return c, configErrorf("the Secret has bearerToken, and also username or password: remove bearerToken, or remove username and password")
	case (c.username == "") != (c.password == ""):
		return c, configErrorf("the Secret needs both username and password")
	case strings.Contains(c.username, ":"):
		return c, configErrorf("the username of the Secret must not contain a colon")
	case strings.ContainsFunc(c.username+c.password+c.token, unicode.IsControl):
		return c, configErrorf("the credentials of the Secret must not contain line breaks or other control characters")
	}
	if hasAuthority {
		c.roots, err = readAuthority(authority)
	}
	return c, err
}

// readAuthority returns the certificate authorities that the system trusts, together with the authority in the Secret.
func readAuthority(text []byte) (*x509.CertPool, error) {
	roots, err := x509.SystemCertPool()
	if err != nil { // for example, the image has no certificates
		roots = x509.NewCertPool()
	}
	if !roots.AppendCertsFromPEM(text) {
		return nil, configErrorf("ca.crt of the Secret contains no certificate in PEM format")
	}
	return roots, nil
}

func readSSHCredentials(secret map[string][]byte) (c credentials, err error) {
	switch {
	case len(secret["identity"]) == 0:
		return c, configErrorf("the Secret has no entry named identity: ssh needs a private key there")
	case len(secret["known_hosts"]) == 0:
		return c, configErrorf("the Secret has no entry named known_hosts: ssh needs the public key of the server there, for example from ssh-keyscan")
	}
	if err := checkIdentity(secret["identity"]); err != nil {
		return c, err
	}
	if password := text(secret, "password"); password != "" {
		c.identity, err = ssh.ParsePrivateKeyWithPassphrase(secret["identity"], []byte(password))
	} else {
		c.identity, err = ssh.ParsePrivateKey(secret["identity"])
	}
	if err != nil {
		return c, configErrorf("the private key in the entry identity of the Secret cannot be read: %s", strings.TrimPrefix(err.Error(), "ssh: "))
	}
	c.knownHosts = secret["known_hosts"]
	return c, nil
}

// checkIdentity refuses a private key that is too large, or whose decryption would take too long. A private key states
// how many rounds of bcrypt its decryption needs. By default, ssh-keygen uses 24 rounds, which take about 0.2 s.
func checkIdentity(key []byte) error {
	const maxIdentity, maxRounds, magic = 16 << 10, 100, "openssh-key-v1\x00"
	if len(key) > maxIdentity {
		return configErrorf("the private key in the entry identity of the Secret is larger than %s", size(maxIdentity))
	}
	block, _ := pem.Decode(key)
	if block == nil || !bytes.HasPrefix(block.Bytes, []byte(magic)) {
		return nil // another format, or not a key
	}
	var header struct {
		Cipher, Function, Options string
		Rest                      []byte `ssh:"rest"`
	}
	var options struct {
		Salt   string
		Rounds uint32
	}
	hasOptions := ssh.Unmarshal(block.Bytes[len(magic):], &header) == nil && ssh.Unmarshal([]byte(header.Options), &options) == nil
	if hasOptions && options.Rounds > maxRounds {
		return configErrorf("the private key in the entry identity of the Secret needs more than %d rounds of bcrypt: write the key again with ssh-keygen -p -a %d", maxRounds, maxRounds)
	}
	return nil
}

// text(secret, key) returns the value of a key in a Secret. The function removes line breaks at the end of the value,
// because many tools add a line break there.
func text(secret map[string][]byte, key string) string {
	return strings.TrimRight(string(secret[key]), "\r\n")
}
