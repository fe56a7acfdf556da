package generator

import (
	"math"
	"net/netip"
	"strconv"
	"strings"

	"cuelang.org/go/cue"

	"github.com/trainyard/trainyard/generator/internal/constraint"
	"github.com/trainyard/trainyard/generator/internal/document"
)

// destination: a policy that says nothing of where would allow everything, and labels choose among the
// pods of namespaces.
func (c *checker) destination(n *document.Node, path []string) {
	if n.Get("cidrs") == nil && n.Get("namespaces") == nil && !n.Partly {
		c.add(n.Position, path, "want cidrs, namespaces or both: anywhere is cidrs [0.0.0.0/0, \"::/0\"]")
	}
	c.place(n, path)
}

// place: what the parts of a document that say where something is have in common.
func (c *checker) place(n *document.Node, path []string) {
	if n.Get("pods") != nil && n.Get("namespaces") == nil {
		c.add(n.Locate("pods"), extend(path, "pods"), "not allowed without namespaces, whose pods these labels choose")
	}
	for i, item := range itemsOf(n.Get("cidrs")) {
		c.network(item, extend(extend(path, "cidrs"), strconv.Itoa(i)))
	}
	for _, protocol := range []string{"tcp", "udp"} {
		for i, item := range itemsOf(n.Get(protocol)) {
			c.portRange(item, extend(extend(path, protocol), strconv.Itoa(i)))
		}
	}
}

// network: the API server refuses, or warns of, what means a network and is not written as one.
// Source: IsValidCIDR of Kubernetes.
func (c *checker) network(n *document.Node, path []string) {
	text, form := textOf(n), c.definitions.LookupPath(cue.MakePath(cue.Def("CIDR")))
	if !c.fits(form, text) {
		return // which has been said
	}
	network, err := netip.ParsePrefix(text)
	switch {
	case err != nil || network.Addr().Is4In6():
		c.breaks(unsound, n.Position, path, "want %s, got %s", constraint.Sentence(form), describe(n, cue.StringKind))
	case network.Masked().String() != text:
		c.breaks(unsound, n.Position, path, "want %s, the network that it means, got %s", network.Masked(), describe(n, cue.StringKind))
	}
}

// portRange: it runs upwards, and ends where ports do.
func (c *checker) portRange(n *document.Node, path []string) {
	first, last, isRange := strings.Cut(textOf(n), "-")
	from, notFrom := strconv.Atoi(first)
	to, notTo := strconv.ParseUint(last, 10, 16)
	if !isRange || notFrom != nil || strings.Contains(last, "-") {
		return // a port, or of another form, which has been said
	}
	if notTo != nil || uint64(from) >= to {
		c.breaks(unsound, n.Position, path, "want a range of ports that runs upwards, to 65535 at most, got %s", describe(n, cue.StringKind))
	}
}

// sshd is the port of sshd in every pod of a runtime.
const sshd = 2222

// mpi: pods run as a user that no low port is for, and one port is taken.
func (c *checker) mpi(n *document.Node, path []string) {
	ports, path := n.Get("ports"), extend(path, "ports")
	text := textOf(ports)
	first, last, _ := strings.Cut(text, "-")
	from, notFrom := strconv.Atoi(first)
	to, notTo := strconv.Atoi(last)
	switch {
	case ports == nil || notFrom != nil || notTo != nil:
		// Of another form, which has been said.
	case from >= to || to > math.MaxUint16:
		c.portRange(ports, path)
	case from < 1024:
		c.breaks(unsound, ports.Position, path, "want ports from 1024 on, which need no privilege, got %s", describe(ports, cue.StringKind))
	case from <= sshd && sshd <= to:
		c.breaks(unsound, ports.Position, path, "want a range without %d, where sshd listens, got %s", sshd, describe(ports, cue.StringKind))
	}
}
