// Package gitserver runs a Git server on this machine for tests and experiments.
//
// The server offers all repositories of a folder over HTTP, HTTPS and SSH. The program git answers the requests, so tests
// use a real implementation of the protocol. By default, the server listens only on the loopback address.
package gitserver

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/ssh"
)

// User is the only user name that a server with a password accepts over HTTP and HTTPS.
const User = "robot"

// Server is a running Git server.
type Server struct {
	// Password is the password of the user over HTTP and HTTPS. If Password and Token are empty, everyone can read the
	// repositories over HTTP and HTTPS. Tests may change Password before the first request.
	Password string
	// Token is a bearer token that HTTP and HTTPS accept instead of the password.
	Token string

	dir      string
	home     string // the HOME of git, a new folder, so that git does not read the settings of this machine's user
	requests atomic.Int64
	packs    atomic.Int64

	http, https *http.Server
	httpAddress string
	tlsAddress  string
	authority   []byte

	sshListener net.Listener
	hostKey     ssh.Signer
	clientKey   []byte
	sessions    sync.WaitGroup
}

// Options are the settings of a server. The zero value is valid.
type Options struct {
	// Address is the address for HTTP, as HOST:PORT. The default value of Address is a free port of
	// 127.0.0.1.
	Address string
	// Password is the password of the user.
	Password string
}

// Start starts a server with default settings for the repositories in a folder. The caller must close the server.
func Start(dir string) (*Server, error) { return StartWith(dir, Options{}) }

// StartWith starts a server for the repositories in a folder. The caller must close the server.
func StartWith(dir string, o Options) (*Server, error) {
	backend, err := backendPath()
	if err != nil {
		return nil, err
	}
	home, err := os.MkdirTemp("", "gitserver")
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, home: home, Password: o.Password}
	handler := s.count(s.authenticate(withLength(&cgi.Handler{Path: backend, Env: append(s.environment(), "GIT_PROJECT_ROOT="+dir, "GIT_HTTP_EXPORT_ALL=1")})))
	err = s.startHTTP(cmp.Or(o.Address, "127.0.0.1:0"), handler)
	if err == nil {
		err = s.startHTTPS(handler)
	}
	if err == nil {
		err = s.startSSH()
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// backendPath finds Git's program for HTTP servers.
func backendPath() (string, error) {
	folder, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		return "", fmt.Errorf("finding git: %w", err)
	}
	return filepath.Join(strings.TrimSpace(string(folder)), "git-http-backend"), nil
}

// environment returns the environment variables of the git programs. With these variables, the git programs ignore two
// groups of Git settings: the settings of this machine, and the settings of the current user.
func (s *Server) environment() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.home, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"}
}

func (s *Server) startHTTP(address string, handler http.Handler) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	s.httpAddress = listener.Addr().String()
	s.http = &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.http.Serve(listener) }() // Serve returns when the server is closed
	return nil
}

// count wraps a handler, and counts all HTTP requests. It also counts how many of these requests ask for a pack, the
// file in which Git sends objects.
func (s *Server) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		if strings.HasSuffix(r.URL.Path, "/git-upload-pack") {
			s.packs.Add(1)
		}
		next.ServeHTTP(w, r)
	})
}

func (s *Server) authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		isUser := s.Password != "" && user == User && password == s.Password
		isToken := s.Token != "" && r.Header.Get("Authorization") == "Bearer "+s.Token
		if s.Password+s.Token != "" && !isUser && !isToken {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			http.Error(w, "unauthorized", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// maxPush is the maximum size, in bytes, of a push without the header Content-Length. The server refuses larger pushes
// without this header.
const maxPush = 64 << 20

// withLength sets the length of requests that lack the header Content-Length, such as Git's pushes of more than 1 MiB.
// CGI programs need the length. To find the length of a request, withLength reads the whole body.
func withLength(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength < 0 {
			body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxPush))
			if err != nil {
				http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
				return
			}
			r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
		}
		next.ServeHTTP(w, r)
	})
}

// HTTP returns the http URL of a repository.
func (s *Server) HTTP(repository string) string { return "http://" + s.httpAddress + "/" + repository }

// HTTPS returns the URL of a repository over HTTPS.
func (s *Server) HTTPS(repository string) string { return "https://" + s.tlsAddress + "/" + repository }

// SSH returns the URL at which clients reach a repository with the protocol SSH.
func (s *Server) SSH(repository string) string {
	return "ssh://git@" + s.sshListener.Addr().String() + "/" + repository
}

// Authority returns the certificate of the authority that signed the server's certificate, in PEM format.
func (s *Server) Authority() []byte { return s.authority }

// Requests returns the number of HTTP requests and SSH sessions so far.
func (s *Server) Requests() int { return int(s.requests.Load()) }

// Packs returns how many HTTP requests have so far asked the server for a pack. If a client uses version 2 of Git's
// protocol, Packs also counts requests for the list of branches and tags.
func (s *Server) Packs() int { return int(s.packs.Load()) }

// Close stops the server. Its repositories stay.
func (s *Server) Close() error {
	var errs []error
	for _, server := range []*http.Server{s.http, s.https} {
		if server != nil {
			errs = append(errs, server.Close())
		}
	}
	if s.sshListener != nil {
		errs = append(errs, s.sshListener.Close())
		s.sessions.Wait()
	}
	return errors.Join(append(errs, os.RemoveAll(s.home))...)
}

// git runs a git command in a folder, and returns its output without the last line break.
func (s *Server) git(dir string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, "git", args...)
	command.Dir = dir
	command.Env = append(s.environment(), "GIT_AUTHOR_NAME=author", "GIT_AUTHOR_EMAIL=author@example.com",
		"GIT_COMMITTER_NAME=author", "GIT_COMMITTER_EMAIL=author@example.com")
	out, err := command.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}

// random returns a random name, which nothing else uses.
func random() string { return strings.ToLower(rand.Text()) }
