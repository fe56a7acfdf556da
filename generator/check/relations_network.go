package check

import (
	"math"
	"net/netip"
	"strconv"
	"strings"

	"github.com/trainyard/trainyard/generator/internal/values"
	"github.com/trainyard/trainyard/generator/internal/wording"
	"github.com/trainyard/trainyard/generator/problem"

	"cuelang.org/go/cue"

	"github.com/trainyard/trainyard/generator/internal/constraint"
	"github.com/trainyard/trainyard/generator/internal/document"
)

// checkDestination requires cidrs or namespaces, because a network policy rule that has neither would allow all
// addresses.
func (c *checker) checkDestination(n *document.Node, path []string) {
	if n.Get("cidrs") == nil && n.Get("namespaces") == nil && !n.Incomplete {
		c.add(n.Position, path, "want \"cidrs\", \"namespaces\" or both; to allow every address, set \"cidrs\" to [0.0.0.0/0, \"::/0\"]")
	}
	c.checkLocation(n, path)
	if n.Get("cidrs") == nil && n.Incomplete { // the unreadable key can be "cidrs"
		return
	}
	for i, item := range itemsOf(n.Get("except")) {
		c.checkException(item, n.Get("cidrs"), values.Extend(values.Extend(path, "except"), strconv.Itoa(i)))
	}
}

// checkException checks one network in the field "except". The API server requires that the excluded network is a part
// of a network in the field "cidrs". checkException also refuses an exception that contains a whole network of the
// field "cidrs". In a network policy, each network of the field "cidrs" becomes an ipBlock. An exception excludes
// addresses from an ipBlock. An exception must not exclude all addresses of an ipBlock.
func (c *checker) checkException(n, cidrs *document.Node, path []string) {
	c.checkCIDR(n, path)
	except, err := netip.ParsePrefix(textOf(n))
	if err != nil {
		return // checkCIDR has already reported the wrong form
	}
	inside := cidrs != nil && len(itemsOf(cidrs)) == 0 // another check reports a field cidrs without items
	for _, item := range itemsOf(cidrs) {
		network, err := netip.ParsePrefix(textOf(item))
		if err == nil && network.Overlaps(except) && network.Bits() >= except.Bits() {
			c.breaks(problem.Invalid, n.Position, path, "not allowed: this exception excludes all of %[1]s in cidrs; remove %[1]s from cidrs, or remove this exception", network)
		}
		inside = inside || err != nil || network.Overlaps(except)
	}
	switch {
	case inside:
	case cidrs == nil:
		c.breaks(problem.Invalid, n.Position, path, "not allowed without \"cidrs\": an exception is a part of one of the networks in \"cidrs\"")
	default:
		c.breaks(problem.Invalid, n.Position, path, "want a part of one of the networks in \"cidrs\", got %s", wording.Describe(n, cue.StringKind))
	}
}

// checkLocation checks the fields pods, cidrs, tcp and udp, which destinations and other network locations
// have in common.
func (c *checker) checkLocation(n *document.Node, path []string) {
	if n.Get("pods") != nil && n.Get("namespaces") == nil {
		c.add(n.Locate("pods"), values.Extend(path, "pods"), "not allowed without \"namespaces\": list the namespaces of these pods")
	}
	for i, item := range itemsOf(n.Get("cidrs")) {
		c.checkCIDR(item, values.Extend(values.Extend(path, "cidrs"), strconv.Itoa(i)))
	}
	for _, protocol := range []string{"tcp", "udp"} {
		for i, item := range itemsOf(n.Get(protocol)) {
			c.portRange(item, values.Extend(values.Extend(path, protocol), strconv.Itoa(i)))
		}
	}
}

// checkCIDR checks a CIDR. It refuses CIDRs with host bits, and IPv4 addresses in IPv6 form. The API server would
// refuse such a CIDR, or warn about it. Source: IsValidCIDR of Kubernetes.
func (c *checker) checkCIDR(n *document.Node, path []string) {
	text, form := textOf(n), c.definitions.LookupPath(cue.MakePath(cue.Def("CIDR")))
	if !c.admitsScalar(form, text) {
		return // another check has already reported that the text is not a CIDR
	}
	network, err := netip.ParsePrefix(text)
	switch {
	case err != nil || network.Addr().Is4In6():
		c.breaks(problem.Invalid, n.Position, path, "want %s, got %s", constraint.Sentence(form), wording.Describe(n, cue.StringKind))
	case network.Masked().String() != text:
		c.breaks(problem.Invalid, n.Position, path, "want %s (the same network in its usual form), got %s", network.Masked(), wording.Describe(n, cue.StringKind))
	}
}

func (c *checker) portRange(n *document.Node, path []string) {
	first, last, isRange := strings.Cut(textOf(n), "-")
	from, notFrom := strconv.Atoi(first)
	to, notTo := strconv.ParseUint(last, 10, 16)
	if !isRange || notFrom != nil || strings.Contains(last, "-") {
		return // a single port, or a wrong form that another check has already reported
	}
	if notTo != nil || uint64(from) >= to {
		c.breaks(problem.Invalid, n.Position, path, "want an ascending range of ports, up to 65535, got %s", wording.Describe(n, cue.StringKind))
	}
}

// sshdPort is the port on which sshd listens in every pod of a runtime.
const sshdPort = 2222

// checkPortRange checks the range of ports on which ranks listen. The range must not include ports below 1024,
// because they need privileges. It must not include sshdPort, because sshd uses this port.
func (c *checker) checkPortRange(n *document.Node, path []string) {
	ports, path := n.Get("ports"), values.Extend(path, "ports")
	text := textOf(ports)
	first, last, _ := strings.Cut(text, "-")
	from, notFrom := strconv.Atoi(first)
	to, notTo := strconv.Atoi(last)
	switch {
	case ports == nil || notFrom != nil || notTo != nil:
		// If the document does not set the field "ports", there is nothing to check. If the value of the field "ports"
		// is not a port range, another check has already reported this mistake.
	case from >= to || to > math.MaxUint16:
		c.portRange(ports, path)
	case from < 1024:
		c.breaks(problem.Invalid, ports.Position, path, "want ports of at least 1024, because lower ports need privileges, got %s", wording.Describe(ports, cue.StringKind))
	case from <= sshdPort && sshdPort <= to:
		c.breaks(problem.Invalid, ports.Position, path, "want a range without port %d, where sshd listens, got %s", sshdPort, wording.Describe(ports, cue.StringKind))
	}
}
