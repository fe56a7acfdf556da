// Command coredns is CoreDNS with only the plugins that a test cluster needs. A build with all plugins would contain the
// client libraries of every cloud provider.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"
	_ "github.com/coredns/coredns/plugin/template"
)

func main() {
	// CoreDNS passes a query to the plugins in the order of this list. The plugin "template" comes last, because it
	// answers NXDOMAIN to every query that it gets. The plugin "template" gets only queries for names outside of the
	// zones of the plugin "kubernetes".
	dnsserver.Directives = []string{"bind", "ready", "errors", "kubernetes", "template"}
	coremain.Run()
}
