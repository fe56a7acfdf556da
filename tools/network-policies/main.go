// Command network-policies enforces the NetworkPolicies of a cluster, with the engine of kube-network-policies. The
// project kube-network-policies also provides a command, but this upstream command can run only inside a cluster. The
// command network-policies reads a kubeconfig, so network-policies can also run outside of a cluster.
//
// The command reads packets from a netfilter queue. The engine adds nftables rules that send packets to the netfilter
// queue. If the kernel does not support these rules, the engine continues without them. On such a kernel, the program
// that starts this command must add iptables rules that send the packets to the queue.
package main

import (
	"context"
	"flag"
	"log"
	"os/signal"

	"golang.org/x/sys/unix"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/kube-network-policies/pkg/networkpolicy"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "path of the kubeconfig")
	queue := flag.Int("queue", 100, "number of the netfilter queue")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM)
	defer stop()
	if err := run(ctx, *kubeconfig, *queue); err != nil {
		log.Fatal(err)
	}
}

// run starts the enforcement of network policies, and ends when the context ends.
func run(ctx context.Context, kubeconfig string, queue int) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	all := informers.NewSharedInformerFactory(client, 0)
	// NRI is the plugin interface of container runtimes. If no container runtime offers NRI, the engine uses only the
	// API server. The configuration must not set NRIdisabled, because the engine would then fail with a nil pointer.
	engine, err := networkpolicy.NewController(client,
		all.Networking().V1().NetworkPolicies(), all.Core().V1().Namespaces(), all.Core().V1().Pods(),
		nil, nil, nil, nil, networkpolicy.Config{QueueID: queue, NodeName: "none"})
	if err != nil {
		return err
	}
	all.Start(ctx.Done())
	return engine.Run(ctx)
}
