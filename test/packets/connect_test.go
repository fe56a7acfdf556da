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

// connectTimeout limits the time for opening a connection, and the time for the response. Usually, a connection takes
// milliseconds. If the policy agent is busy, a packet can remain unanswered. The kernel resends such a packet after 1
// and 3 seconds, so the connection takes a few seconds.
const connectTimeout = 5 * time.Second

// listenPorts lists the ports on which all hosts in testHosts listen. Port 2222 is the port of sshd, and port 40000 is
// an example of a port that ranks use. The other ports are ports to which the platform document anyPort allows
// connections.
var listenPorts = []string{"53/udp", "53/tcp", "443/tcp", "2222/tcp", "5000/tcp", "6443/tcp", "9400/tcp", "40000/tcp", "40000/udp"}

func (n *network) listen(t *testing.T, ports []string) {
	t.Helper()
	t.Cleanup(n.closeListeners)
	n.runInside(t, func() {
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
				go echoPackets(conn)
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

func (n *network) closeListeners() {
	for _, listener := range n.listeners {
		_ = listener.Close()
	}
	n.listeners = nil
}

func echoPackets(conn net.PacketConn) {
	buffer := make([]byte, 64)
	for {
		size, from, err := conn.ReadFrom(buffer)
		if err != nil {
			return
		}
		_, _ = conn.WriteTo(buffer[:size], from)
	}
}

func (n *network) canReach(t *testing.T, address, port string) bool {
	t.Helper()
	number, protocol, _ := strings.Cut(port, "/")
	var conn net.Conn
	var err error
	ctx, cancel := context.WithTimeout(t.Context(), connectTimeout)
	defer cancel()
	n.runInside(t, func() {
		conn, err = new(net.Dialer).DialContext(ctx, protocol+"4", net.JoinHostPort(address, number))
	})
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }()
	return waitForResponse(conn, protocol)
}

// waitForResponse reports whether the other host responds. For the protocol UDP, it sends a packet repeatedly,
// because a packet can get lost.
func waitForResponse(conn net.Conn, protocol string) bool {
	buffer := make([]byte, 64)
	for deadline := time.Now().Add(connectTimeout); time.Now().Before(deadline); {
		wait := connectTimeout
		if protocol == "udp" {
			wait = connectTimeout / 5
			_, _ = io.WriteString(conn, "hello")
		}
		_ = conn.SetReadDeadline(time.Now().Add(wait))
		size, err := conn.Read(buffer)
		if err == nil && size > 0 {
			return true
		}
		if netErr := net.Error(nil); !errors.As(err, &netErr) || !netErr.Timeout() {
			return false
		}
	}
	return false
}
