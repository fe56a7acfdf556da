package fetch

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Network restricts the servers to which the controller connects.
//
// Proxies are not used, not even those of the environment variables: a proxy would resolve names itself, so the
// addresses could not be checked.
type Network struct {
	// Allow lists addresses that are allowed although Deny or the built-in list refuses them.
	Allow []netip.Prefix
	// Deny lists addresses that are refused. The built-in list refuses all addresses of this machine, link-local addresses, addresses at
	// which clouds serve credentials, and multicast and broadcast addresses.
	Deny []netip.Prefix
	// PlainHTTPHosts lists the hosts, as host:port, from which the controller may fetch over http.
	PlainHTTPHosts []string
}

// refused lists the ranges that no Git server needs. It does not list private addresses, because many Git servers have a
// private address. It also does not list loopback, link-local and multicast addresses, because Network.allows refuses them
// with functions of netip.Addr.
var refused = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),          // on Linux, this machine
	netip.MustParsePrefix("255.255.255.255/32"), // broadcast
	netip.MustParsePrefix("fd00:ec2::254/128"),  // credentials on AWS
	netip.MustParsePrefix("100.100.100.200/32"), // credentials on Alibaba Cloud
}

// embedded lists the prefixes of IPv6 addresses whose last four bytes are an IPv4 address.
var embedded = []netip.Prefix{
	netip.MustParsePrefix("64:ff9b::/96"), // NAT64, RFC 6052
	netip.MustParsePrefix("::/96"),        // IPv4-compatible, RFC 4291
}

// allows reports whether the controller may connect to an address.
func (n Network) allows(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	contains := func(list []netip.Prefix) bool {
		return slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(a) })
	}
	if contains(n.Allow) {
		return true
	}
	if contains(n.Deny) || contains(refused) || a.IsLoopback() || a.IsUnspecified() || a.IsMulticast() ||
		a.IsLinkLocalUnicast() || isOwn(a) {
		return false
	}
	if contains(embedded) {
		bytes := a.As16()
		return n.allows(netip.AddrFrom4([4]byte(bytes[12:])))
	}
	return true
}

// isOwn reports whether an address belongs to this machine or pod. Services that only this machine should reach can listen at such
// an address too. If the addresses of the machine are unknown, isOwn returns true.
func isOwn(a netip.Addr) bool {
	own, err := net.InterfaceAddrs()
	if err != nil {
		return true
	}
	return slices.ContainsFunc(own, func(one net.Addr) bool {
		prefix, err := netip.ParsePrefix(one.String())
		return err == nil && prefix.Addr().Unmap() == a
	})
}

// checkScheme refuses http, except for configured hosts.
func (n Network) checkScheme(a address) error {
	if a.scheme != "http" || slices.ContainsFunc(n.PlainHTTPHosts, func(h string) bool { return strings.EqualFold(h, a.hostPort()) }) {
		return nil
	}
	return configErrorf("spec.url: http is not encrypted, and the controller's configuration does not allow it for %s: use https or ssh", a.hostPort())
}

// dialer connects to the server of one fetch.
type dialer struct {
	network  Network
	received *budget
}

// dial opens a connection. It resolves the name first, and then checks the IP address to which it connects. Otherwise, the
// name could resolve to another address after the check.
func (d dialer) dial(ctx context.Context, network, hostPort string) (net.Conn, error) {
	plain := net.Dialer{Timeout: 15 * time.Second, Control: d.control}
	conn, err := plain.DialContext(ctx, network, hostPort)
	if err != nil {
		return nil, err
	}
	return limitedConn{conn, d.received}, nil
}

// control checks the address of a socket before it is connected.
func (d dialer) control(_, hostPort string, _ syscall.RawConn) error {
	resolved, err := netip.ParseAddrPort(hostPort)
	if err != nil {
		return configErrorf("%s is not an IP address with a port", hostPort)
	}
	if !d.network.allows(resolved.Addr()) {
		return configErrorf("the host has the address %s, and the controller's configuration does not allow connections to it", resolved.Addr())
	}
	return nil
}
