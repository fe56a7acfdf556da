package fetch

import (
	"cmp"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// address is the parsed URL of a repository.
type address struct {
	scheme string // https, http or ssh
	user   string // for ssh
	host   string // a name or an IP address in lower case, without brackets
	port   string
	path   string // with a leading slash, not escaped
}

var defaultPorts = map[string]string{"https": "443", "http": "80", "ssh": "22"}

// safePath matches the paths that a shell on the SSH server cannot misread.
var safePath = regexp.MustCompile(`^/[A-Za-z0-9._~/%+@ -]+$`)

var (
	safeHost = regexp.MustCompile(`^[A-Za-z0-9._:][A-Za-z0-9._:-]*$`) // names and IP addresses
	safeUser = regexp.MustCompile(`^[A-Za-z0-9._][A-Za-z0-9._-]*$`)
)

// parseAddress reads and checks spec.url. The error messages of parseAddress do not contain the URL, because the URL may
// contain a password.
func parseAddress(text string) (address, error) {
	u, err := url.Parse(text)
	if err != nil || defaultPorts[u.Scheme] == "" {
		return address{}, configErrorf("spec.url: want an address that starts with https:// or ssh://")
	}
	if _, has := u.User.Password(); has || (u.User != nil && u.Scheme != "ssh") {
		return address{}, configErrorf("spec.url must not contain a password, and may contain a user name only if it starts with ssh://: put the credentials into the Secret of spec.secretRef")
	}
	if u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || u.Opaque != "" {
		return address{}, configErrorf("spec.url must not contain ? or #, and // must follow the first colon")
	}
	user := "git"
	if u.User != nil {
		user = u.User.Username()
	}
	a := address{u.Scheme, user, strings.ToLower(u.Hostname()), cmp.Or(u.Port(), defaultPorts[u.Scheme]), u.Path}
	return a, a.check()
}

// check refuses hosts, users and paths that another program could read as an option or a command.
func (a address) check() error {
	switch {
	case !safeHost.MatchString(a.host) || !safeUser.MatchString(a.user):
		return configErrorf("the host or the user name in spec.url is missing or invalid")
	case !safePath.MatchString(a.path) || slices.Contains(strings.Split(a.path, "/"), ".."):
		return configErrorf("spec.url: the path may contain only letters, digits, spaces and ._~/%%+@-, and must not contain a folder named ..")
	}
	return nil
}

// hostPort returns the host with its port, as dialers expect it.
func (a address) hostPort() string { return net.JoinHostPort(a.host, a.port) }

// shortHost returns the host with its port, or without the port if the port is the default port of
// the scheme.
func (a address) shortHost() string {
	if a.port == defaultPorts[a.scheme] {
		return a.host
	}
	return a.hostPort()
}

// url returns the URL for HTTP.
func (a address) url() *url.URL {
	return &url.URL{Scheme: a.scheme, Host: a.urlHost(), Path: strings.TrimSuffix(a.path, "/")}
}

func (a address) urlHost() string {
	if host := a.shortHost(); host != a.host || !strings.Contains(host, ":") {
		return host
	}
	return "[" + a.host + "]"
}

// String returns the URL without the user.
func (a address) String() string {
	return (&url.URL{Scheme: a.scheme, Host: a.urlHost(), Path: a.path}).String()
}

// isListed reports whether the annotation trainyard.dev/hosts of a Secret allows sending the credentials to the host.
// An entry without a port allows only https and ssh, at their default ports. For http, the entry must contain a port.
// Therefore an entry without a port never allows sending credentials in plain text.
func (a address) isListed(hosts string) bool {
	for entry := range strings.SplitSeq(hosts, ",") {
		entry = strings.ToLower(strings.TrimSpace(entry))
		if entry == a.hostPort() {
			return true
		}
		if a.scheme != "http" && strings.Trim(entry, "[]") == a.host && a.port == defaultPorts[a.scheme] {
			return true
		}
	}
	return false
}

// hostsEntry converts an address to an entry that a user can write into the annotation trainyard.dev/hosts of a Secret.
// If the annotation contains this entry, the credentials in the Secret may be sent to the host of the address.
func (a address) hostsEntry() string {
	if a.scheme == "http" {
		return a.hostPort()
	}
	return a.shortHost()
}
