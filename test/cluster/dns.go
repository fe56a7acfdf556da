//go:build linux

package cluster

import (
	"context"
	"os"
	"os/exec"

	"github.com/trainyard/trainyard/test/upstream"
)

// corefile makes CoreDNS resolve the names of services and pods. For names that do not belong to a service
// or a pod, CoreDNS answers that the name does not exist.
const corefile = `.:53 {
  bind $ADDRESS
  errors
  ready $LOOPBACK:8181
  kubernetes $DOMAIN in-addr.arpa {
    kubeconfig $KUBECONFIG sandbox
    pods insecure
    ttl 1
  }
  template ANY ANY . {
    rcode NXDOMAIN
  }
}
`

func (c *cluster) startDNS(ctx context.Context) error {
	values := map[string]string{
		"ADDRESS": gateway, "LOOPBACK": c.state.loopback(), "DOMAIN": domain, "KUBECONFIG": c.kubeconfigPath("dns"),
	}
	text := os.Expand(corefile, func(key string) string { return values[key] })
	if err := os.WriteFile(c.filePath("Corefile"), []byte(text), 0o600); err != nil {
		return err
	}
	return c.run(ctx, "dns", exec.Command(c.tools.Path("coredns"), "-conf", c.filePath("Corefile")), upstream.OK("http://"+c.state.loopback()+":8181/ready"))
}
