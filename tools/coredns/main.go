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
	// CoreDNS runs the plugins in the order of this list. The plugin "template" comes last, because it returns
	// NXDOMAIN for all names that the plugin "kubernetes" does not know.
	dnsserver.Directives = []string{"bind", "ready", "errors", "kubernetes", "template"}
	coremain.Run()
}
