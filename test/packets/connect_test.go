//go:build linux

package packets

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

// patience is for a connection that does not come about. One that does takes milliseconds, or a few
// seconds where the engine had to be waited for: the kernel asks again after 1 and 3 seconds.
const patience = 5 * time.Second

// ports are what every host listens on: SSH, two that ranks could meet at, and what the document names.
var ports = []string{"53/udp", "53/tcp", "443/tcp", "2222/tcp", "5000/tcp", "6443/tcp", "9400/tcp", "40000/tcp", "40000/udp"}

// listen has a host answer at some ports, until somebody else needs them.
func (n *network) listen(t *testing.T, ports []string) {
	t.Helper()
	t.Cleanup(n.fallSilent)
	n.in(t, func() {
		if err := os.WriteFile("/proc/sys/net/ipv4/ip_unprivileged_port_start", []byte("1"), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, port := range ports {
			number, protocol, _ := strings.Cut(port, "/")
			if protocol == "udp" {
				conn, err := net.ListenPacket("udp4", ":"+number)
				if err != nil {
					t.Fatal(err)
				}
				n.listeners = append(n.listeners, conn)
				go echo(conn)
				continue
			}
			n.listenTCP(t, number)
		}
	})
}

func (n *network) listenTCP(t *testing.T, port string) {
	t.Helper()
	listener, err := net.Listen("tcp4", ":"+port)
	if err != nil {
		t.Fatal(err)
	}
	n.listeners = append(n.listeners, listener)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "hello")
			_ = conn.Close()
		}
	}()
}

// fallSilent has a host answer no more.
func (n *network) fallSilent() {
	for _, listener := range n.listeners {
		_ = listener.Close()
	}
	n.listeners = nil
}

// echo sends back what comes.
func echo(conn net.PacketConn) {
	buffer := make([]byte, 64)
	for {
		size, from, err := conn.ReadFrom(buffer)
		if err != nil {
			return
		}
		_, _ = conn.WriteTo(buffer[:size], from)
	}
}

// reaches tells whether a host gets an answer from another at a port, such as 443/tcp.
func (n *network) reaches(t *testing.T, address, port string) bool {
	t.Helper()
	number, protocol, _ := strings.Cut(port, "/")
	var conn net.Conn
	var err error
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	n.in(t, func() {
		conn, err = new(net.Dialer).DialContext(ctx, protocol+"4", net.JoinHostPort(address, number))
	})
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }()
	return answers(conn, protocol)
}

// answers waits for an answer. Of packets each may get lost.
func answers(conn net.Conn, protocol string) bool {
	buffer := make([]byte, 64)
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		wait := patience
		if protocol == "udp" {
			wait = patience / 5
			_, _ = io.WriteString(conn, "hello")
		}
		_ = conn.SetReadDeadline(time.Now().Add(wait))
		size, err := conn.Read(buffer)
		if err == nil && size > 0 {
			return true
		}
		if timeout := net.Error(nil); !errors.As(err, &timeout) || !timeout.Timeout() {
			return false
		}
	}
	return false
}
