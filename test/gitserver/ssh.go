package gitserver

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"regexp"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// startSSH starts the server for SSH, with a new host key and a new key for its only user.
func (s *Server) startSSH() error {
	hostKey, _, err := newKey()
	if err != nil {
		return err
	}
	allowed, private, err := newKey()
	if err != nil {
		return err
	}
	config := &ssh.ServerConfig{PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if !bytes.Equal(key.Marshal(), allowed.PublicKey().Marshal()) {
			return nil, errors.New("unknown key")
		}
		return &ssh.Permissions{}, nil
	}}
	config.AddHostKey(hostKey)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.sshListener, s.hostKey, s.clientKey = listener, hostKey, private
	s.sessions.Go(func() { s.accept(config) })
	return nil
}

func newKey() (ssh.Signer, []byte, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		return nil, nil, err
	}
	signer, err := ssh.NewSignerFromKey(key)
	return signer, pem.EncodeToMemory(block), err
}

// KnownHosts returns the server's host key as a line of known_hosts.
func (s *Server) KnownHosts() []byte {
	return []byte(knownhosts.Line([]string{s.sshListener.Addr().String()}, s.hostKey.PublicKey()) + "\n")
}

// HostKey returns the server's public host key.
func (s *Server) HostKey() ssh.PublicKey { return s.hostKey.PublicKey() }

// Identity returns the private key that the server accepts.
func (s *Server) Identity() []byte { return s.clientKey }

// accept serves SSH connections until the listener is closed.
func (s *Server) accept(config *ssh.ServerConfig) {
	for {
		conn, err := s.sshListener.Accept()
		if err != nil {
			return
		}
		go s.serve(conn, config)
	}
}

// serve handles the sessions of an SSH connection. A client that breaks the protocol loses its
// connection.
func (s *Server) serve(conn net.Conn, config *ssh.ServerConfig) {
	defer func() { _ = conn.Close() }()
	_, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for next := range channels {
		if next.ChannelType() != "session" {
			_ = next.Reject(ssh.UnknownChannelType, "only sessions are served")
			continue
		}
		channel, requests, err := next.Accept()
		if err != nil {
			return
		}
		go s.serveSession(channel, requests)
	}
}

// command is a pattern that matches the only command that the SSH server runs.
var command = regexp.MustCompile(`^git-upload-pack '/([A-Za-z0-9._/-]+)'$`)

// serveSession runs git-upload-pack for a session.
func (s *Server) serveSession(channel ssh.Channel, requests <-chan *ssh.Request) {
	defer func() { _ = channel.Close() }()
	for request := range requests {
		var exec struct{ Command string }
		if request.Type != "exec" || ssh.Unmarshal(request.Payload, &exec) != nil {
			_ = request.Reply(false, nil)
			continue
		}
		_ = request.Reply(true, nil)
		s.requests.Add(1)
		status := struct{ Status uint32 }{s.uploadPack(exec.Command, channel)}
		_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(status))
		return
	}
}

// uploadPack runs git-upload-pack, and returns its status.
func (s *Server) uploadPack(text string, channel ssh.Channel) uint32 {
	match := command.FindStringSubmatch(text)
	if match == nil || !filepath.IsLocal(match[1]) {
		fmt.Fprintf(channel.Stderr(), "the command is not allowed: %s\n", text)
		return 128
	}
	program := exec.Command("git", "upload-pack", filepath.Join(s.dir, match[1]))
	program.Env = s.environment()
	program.Stdout, program.Stderr = channel, channel.Stderr()
	in, err := program.StdinPipe()
	if err != nil {
		return 128
	}
	if err := program.Start(); err != nil {
		return 128
	}
	go func() {
		if n, _ := io.Copy(in, channel); n > int64(len("0000")) { // a client that needs no objects sends only 0000
			s.packs.Add(1)
		}
		_ = in.Close()
	}()
	if program.Wait() != nil {
		return 128
	}
	return 0
}
