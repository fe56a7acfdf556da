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
// The controller ignores proxies, including the proxies that environment variables set. A proxy would resolve
// host names itself, so the controller could not check the addresses.
type Network struct {
	// Allow contains addresses to which the controller may connect even if Deny or the built-in
	// list refuses them.
	Allow []netip.Prefix
	// Deny contains addresses that are refused in addition to the built-in list. The built-in list refuses all addresses of
	// this machine, link-local addresses, addresses at which clouds serve credentials, and multicast and broadcast
	// addresses.
	Deny []netip.Prefix
	// PlainHTTPHosts lists the hosts, as host:port, from which the controller may fetch over http.
	PlainHTTPHosts []string
}

// refused is a list of address ranges that contain no Git server. The list does not contain the ranges of private
// addresses, because many Git servers have a private address. The list also lacks loopback, link-local and multicast
// addresses. The reason is that Network.allows recognizes and refuses these addresses by calling methods of netip.Addr.
var refused = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),              // on Linux, this machine
	netip.MustParsePrefix("255.255.255.255/32"),     // broadcast
	netip.MustParsePrefix("fd00:ec2::254/128"),      // credentials on AWS
	netip.MustParsePrefix("fd00:ec2::23/128"),       // credentials of pods on AWS
	netip.MustParsePrefix("fd20:ce::254/128"),       // credentials on Google Cloud
	netip.MustParsePrefix("fd00:c1::a9fe:a9fe/128"), // credentials on Oracle Cloud
	netip.MustParsePrefix("100.100.100.200/32"),     // credentials on Alibaba Cloud
}

// embedded contains the prefixes of IPv6 addresses that embed an IPv4 address in their last four bytes.
var embedded = []netip.Prefix{
	netip.MustParsePrefix("64:ff9b::/96"), // NAT64, RFC 6052
	netip.MustParsePrefix("::/96"),        // IPv4-compatible, RFC 4291
}

// allows decides whether the controller may connect to an address.
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

// isOwn reports whether an address belongs to this machine or pod. By default, the controller does not connect to such
// addresses. A service that listens there may be meant only for programs on the same machine. If the addresses of the
// machine are unknown, isOwn returns true.
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

// checkScheme returns an error for a URL with http, unless its host is in PlainHTTPHosts.
func (n Network) checkScheme(a address) error {
	if a.scheme != "http" || slices.ContainsFunc(n.PlainHTTPHosts, func(h string) bool { return strings.EqualFold(h, a.hostPort()) }) {
		return nil
	}
	return configErrorf("spec.url: http is not encrypted, and the controller's configuration does not allow it for %s: use https or ssh", a.hostPort())
}

// dialer opens the network connections of one fetch. Each fetch needs its own dialer, because the field "received"
// counts the bytes that the fetch receives.
type dialer struct {
	network  Network
	received *budget
}

// dial opens a connection. dial resolves the host name, checks the IP address, and connects to this address. dial must not
// resolve the name a second time after the check, because the name could then resolve to another address.
func (d dialer) dial(ctx context.Context, network, hostPort string) (net.Conn, error) {
	plain := net.Dialer{Timeout: 15 * time.Second, Control: d.control}
	conn, err := plain.DialContext(ctx, network, hostPort)
	if err != nil {
		return nil, err
	}
	return limitedConn{conn, d.received}, nil
}

// control is called before a socket connects, and returns an error if the address is refused.
func (d dialer) control(_, hostPort string, _ syscall.RawConn) error {
	resolved, err := netip.ParseAddrPort(hostPort)
	if err != nil {
		return configErrorf("%s is not an IP address with a port", hostPort)
	}
	if !d.network.allows(resolved.Addr()) {
		return configErrorf("the host has the address %s, to which the controller may not connect: use another server, or ask an admin of the cluster to allow this address with --allow-address", resolved.Addr())
	}
	return nil
}
