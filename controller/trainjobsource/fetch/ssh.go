package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"
	xknownhosts "golang.org/x/crypto/ssh/knownhosts"
)

// sshRemote is a repository on an SSH server.
type sshRemote struct {
	client  *ssh.Client
	stop    func() bool // undoes the context.AfterFunc that closes the connection
	command string
	refs    int64       // Limits.Refs
	session *sshSession // nil before the first session, and after a session was used
}

// sshSession runs git-upload-pack once.
type sshSession struct {
	*ssh.Session
	in       io.WriteCloser
	out      io.Reader
	problems *tail
}

// newSSHRemote connects to the server, checks its host key, and authenticates.
func newSSHRemote(ctx context.Context, a address, c credentials, d dialer, folder string, limits Limits) (*sshRemote, error) {
	hosts, err := readKnownHosts(folder, c.knownHosts)
	if err != nil {
		return nil, err
	}
	algorithms := hosts.HostKeyAlgorithms(a.hostPort())
	if len(algorithms) == 0 {
		return nil, configErrorf("known_hosts of the Secret has no key for %s", xknownhosts.Normalize(a.hostPort()))
	}
	conn, err := d.dial(ctx, "tcp", a.hostPort())
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() }) // ends all reads and writes
	config := &ssh.ClientConfig{
		User:              a.user,
		Auth:              []ssh.AuthMethod{ssh.PublicKeys(c.identity)},
		HostKeyCallback:   hosts.HostKeyCallback(),
		HostKeyAlgorithms: algorithms,
	}
	client, err := handshake(conn, a, config, limits.Answer)
	if err != nil {
		stop()
		_ = conn.Close() // the library closes it too
		return nil, describeHandshake(err, a)
	}
	return &sshRemote{client: client, stop: stop, command: uploadCommand(a.path), refs: limits.Refs}, nil
}

// uploadCommand returns the command that runs git-upload-pack on the server. The path of the URL
// ssh://host/~team/jobs.git begins with a slash and a tilde. Like git, uploadCommand removes this slash, because only a
// path that begins with a tilde is relative to a home folder.
func uploadCommand(path string) string {
	if strings.HasPrefix(path, "/~") {
		path = path[1:]
	}
	return uploadPack + " '" + path + "'"
}

// handshake does the SSH handshake. The argument "answer" is the maximum duration of the SSH handshake. If the SSH
// handshake takes longer, the function returns an error.
func handshake(conn net.Conn, a address, config *ssh.ClientConfig, answer time.Duration) (*ssh.Client, error) {
	if err := conn.SetDeadline(time.Now().Add(answer)); err != nil {
		return nil, err
	}
	connection, channels, requests, err := ssh.NewClientConn(conn, a.hostPort(), config)
	if err != nil {
		return nil, err
	}
	return ssh.NewClient(connection, channels, requests), conn.SetDeadline(time.Time{})
}

// describeHandshake returns a ConfigError if somebody must fix the cause of the error. Otherwise, for example after
// a network problem, describeHandshake returns an error that is not a ConfigError.
func describeHandshake(err error, a address) error {
	var revoked *xknownhosts.RevokedError
	var wrongKey *xknownhosts.KeyError
	var noCommon *ssh.AlgorithmNegotiationError
	switch {
	case errors.As(err, &revoked):
		return configErrorf("the host key of %s is revoked in known_hosts of the Secret", a.shortHost())
	case errors.As(err, &wrongKey):
		return configErrorf("the host key of %s is not the key in known_hosts of the Secret: somebody may be intercepting the connection, or the server has a new key", a.shortHost())
	case errors.As(err, &noCommon):
		return configErrorf("server %s and the controller have no common SSH algorithm (known_hosts of the Secret may lack the type of the server's host key): %v", a.shortHost(), noCommon)
	case strings.Contains(err.Error(), "unable to authenticate"): // x/crypto has no type for this error
		return configErrorf("the server refused the login of user %s with the private key in the Secret", a.user)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errors.New("the server did not finish the SSH handshake in time")
	case errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return errors.New("the server closed the connection during the SSH handshake") // the library returns any of these
	}
	return err
}

// readKnownHosts parses known_hosts. readKnownHosts writes the text to a temporary file, because the library reads
// only files.
func readKnownHosts(folder string, text []byte) (*knownhosts.HostKeyDB, error) {
	file, err := os.CreateTemp(folder, "hosts")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(file.Name()) }() // it contains no secret
	_, err = file.Write(text)
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	hosts, err := knownhosts.NewDB(file.Name())
	if err != nil {
		return nil, configErrorf("known_hosts of the Secret is invalid: %s", strings.ReplaceAll(err.Error(), file.Name(), "line"))
	}
	return hosts, nil
}

// open starts the program git-upload-pack on the server.
func (s *sshRemote) open() error {
	session, err := s.client.NewSession()
	if err != nil {
		return err
	}
	s.session = &sshSession{Session: session, problems: &tail{}}
	session.Stderr = s.session.problems
	if s.session.in, err = session.StdinPipe(); err != nil {
		return err
	}
	if s.session.out, err = session.StdoutPipe(); err != nil {
		return err
	}
	return session.Start(s.command)
}

func (s *sshRemote) advertisement(context.Context) (io.Reader, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	return explainingReader{s.session}, nil
}

func (s *sshRemote) exchange(ctx context.Context, message []byte) (io.Reader, error) {
	if s.session == nil { // the earlier session ended with its pack
		again, err := s.advertisement(ctx)
		if err != nil {
			return nil, err
		}
		if _, err := readAdvertisement(again, s.refs); err != nil {
			return nil, err
		}
	}
	session := s.session
	s.session = nil
	if _, err := io.Copy(session.in, bytes.NewReader(message)); err != nil {
		return nil, err
	}
	return explainingReader{session}, session.in.Close()
}

func (s *sshRemote) close() {
	s.stop()
	_ = s.client.Close() // the answers were read as far as they are needed
}

// explainingReader reads the output of git-upload-pack on the server. If git-upload-pack fails, the method Read returns
// an error with the last bytes that git-upload-pack wrote to stderr.
type explainingReader struct{ session *sshSession }

func (r explainingReader) Read(p []byte) (int, error) {
	n, err := r.session.out.Read(p)
	if n > 0 || !errors.Is(err, io.EOF) {
		return n, err
	}
	exit := (*ssh.ExitError)(nil)
	if !errors.As(r.session.Wait(), &exit) {
		return 0, io.EOF
	}
	text := fmt.Sprintf("git-upload-pack on the server ended with status %d: %s", exit.ExitStatus(), r.session.problems)
	if noAccess.MatchString(text) {
		return 0, &ConfigError{text}
	}
	return 0, errors.New(text)
}

// noAccess matches the messages with which common servers report a missing repository or missing permissions.
var noAccess = regexp.MustCompile(`(?i)not found|not exist|does not appear to be a git repository|denied|not allowed`)

// tail keeps the last bytes of a stream.
type tail struct {
	mutex sync.Mutex
	bytes []byte
}

func (t *tail) Write(p []byte) (int, error) {
	const kept = 1 << 10
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.bytes = append(t.bytes, p[max(0, len(p)-kept):]...)
	t.bytes = t.bytes[max(0, len(t.bytes)-kept):]
	return len(p), nil
}

func (t *tail) String() string {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return string(t.bytes)
}
