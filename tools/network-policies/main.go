// Command network-policies decides on packets by the NetworkPolicies of a cluster, with the engine of
// kube-network-policies. The engine's own command runs in a cluster only; this one takes a kubeconfig.
//
// Packets come to it by a queue of netfilter. The engine asks nftables for them and goes on where
// the kernel cannot do that; whoever starts this command sends packets to the queue by iptables.
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
	kubeconfig := flag.String("kubeconfig", "", "how to reach the API server")
	queue := flag.Int("queue", 100, "the number of the queue that packets come by")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM)
	defer stop()
	if err := run(ctx, *kubeconfig, *queue); err != nil {
		log.Fatal(err)
	}
}

// run decides on packets until it is told to stop.
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
	// The engine fails with a nil pointer where it is told to do without the container runtime's
	// plugin interface; without a runtime that offers it, it goes by the API server alone.
	engine, err := networkpolicy.NewController(client,
		all.Networking().V1().NetworkPolicies(), all.Core().V1().Namespaces(), all.Core().V1().Pods(),
		nil, nil, nil, nil, networkpolicy.Config{QueueID: queue, NodeName: "none"})
	if err != nil {
		return err
	}
	all.Start(ctx.Done())
	return engine.Run(ctx)
}
