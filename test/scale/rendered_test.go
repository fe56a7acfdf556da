//go:build linux

package scale

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	product "github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/api/jobs"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/test/cluster"
	"github.com/trainyard/trainyard/test/matrix"
	"github.com/trainyard/trainyard/test/poll"
	"github.com/trainyard/trainyard/test/repo"
	"github.com/trainyard/trainyard/test/upstream"
)

// TestExamplesRun applies the objects of two examples. An editor of each tenant then submits one TrainJob for each
// combination of runtime and queue. Kueue must admit each TrainJob. All pods must run on simulated cluster nodes.
// Network policies must let the launcher and the nodes connect to each other.
func TestExamplesRun(t *testing.T) {
	if os.Getenv("TRAINYARD_KUEUE") == "" {
		t.Skip("needs Kueue and a cluster of simulated nodes: run `make kueue`")
	}
	e := startExamples(t)
	for _, example := range []string{"acme", "vanilla"} {
		for environment, objs := range e.generateObjects(t, example) {
			t.Run(strings.Trim(example+" "+environment, " "), func(t *testing.T) {
				e.apply(t, objs)
				for _, tenant := range matrix.Tenants(objs) {
					for _, job := range matrix.TrainJobs(objs, tenant) {
						e.expectRuns(t, job, matrix.Editors(objs, tenant))
					}
				}
			})
		}
	}
}

type exampleCluster struct {
	*sandbox
	config *rest.Config
}

// clusterNodes is the number of cluster nodes. Half of them have the label and the taint of cluster
// nodes with GPUs.
const clusterNodes = 24

func startExamples(t *testing.T) exampleCluster {
	t.Helper()
	s := startSandbox(t, cluster.Options{Nodes: clusterNodes, Trainer: "trainer-2.3", Kueue: true}, "platform.yaml")
	config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig(s.dir))
	if err != nil {
		t.Fatal(err)
	}
	for number := 1; number <= clusterNodes/2; number++ {
		name := fmt.Sprintf("fake%d", number)
		s.runKubectl(t, "", "label", "node", name, "nvidia.com/gpu.product=NVIDIA-A100-SXM4-80GB", "topology.kubernetes.io/zone=a")
		s.runKubectl(t, "", "taint", "node", name, "nvidia.com/gpu=present:NoSchedule")
		s.runKubectl(t, "", "patch", "node", name, "--subresource=status", "--type=merge", "-p",
			`{"status": {"capacity": {"nvidia.com/mig-2g.20gb": "12"}, "allocatable": {"nvidia.com/mig-2g.20gb": "12"}}}`)
	}
	return exampleCluster{s, config}
}

// generateObjects generates the objects of an example for the versions of Trainer and Kueue in the cluster. The
// result maps each environment to its objects.
func (e exampleCluster) generateObjects(t *testing.T, example string) map[string][]client.Object {
	t.Helper()
	var layers []generator.Input
	for _, file := range []string{"examples/" + example + "/platform.yaml", "examples/layers/trainer-2.3.yaml"} {
		text, err := os.ReadFile(repo.Path(t, file))
		if err != nil {
			t.Fatal(err)
		}
		layers = append(layers, generator.Input{Name: file, Text: text})
	}
	layers = append(layers, generator.Input{Name: "controllers.yaml", Text: []byte(exemptControllers)})
	platforms, err := generator.New(product.CUE).Generate(t.Context(), generator.Request{Layers: layers})
	if err != nil {
		t.Fatal(err)
	}
	sets := map[string][]client.Object{}
	for _, p := range platforms {
		for o := range p.Objects.All() {
			sets[p.Environment] = append(sets[p.Environment], &unstructured.Unstructured{Object: o.Fields()})
		}
	}
	return sets
}

// exemptControllers is a layer that exempts Trainer's and Kueue's controllers in the test cluster from the admission
// rules. The layer lists the ServiceAccounts of these controllers. The example acme needs this layer, because acme is
// for OpenShift. Without the layer, trainyard would exempt only the ServiceAccounts that the controllers have on
// OpenShift.
const exemptControllers = `
spec:
  admission:
    exempt:
    - system:serviceaccount:kubeflow-system:kubeflow-trainer-controller-manager
    - system:serviceaccount:kueue-system:kueue-controller-manager
`

// apply creates or updates the objects of an example. The method skips kinds that the cluster does
// not have, such as the kinds of Prometheus. The method also creates the namespaces, claims and ClusterQueues that the
// example expects in the cluster.
func (e exampleCluster) apply(t *testing.T, objs []client.Object) {
	t.Helper()
	var stream strings.Builder
	known := func(obj client.Object) bool {
		gvk := obj.GetObjectKind().GroupVersionKind()
		_, err := e.client.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
		return !meta.IsNoMatchError(err)
	}
	for _, obj := range objs {
		if namespace := obj.GetNamespace(); namespace != "" {
			// Red Hat's build of Kueue ignores namespaces without the label kueue.openshift.io/managed. The example
			// acme is for OpenShift, so its admission rules refuse all TrainJobs in a namespace without this label.
			managed := map[string]string{"kueue.openshift.io/managed": "true"}
			ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: managed}}
			if err := e.client.Create(t.Context(), ns); client.IgnoreAlreadyExists(err) != nil {
				t.Fatal(err)
			}
		}
		if known(obj) {
			text, err := json.Marshal(obj)
			if err != nil {
				t.Fatal(err)
			}
			stream.Write(append(text, '\n'))
		}
	}
	e.runKubectl(t, stream.String(), "apply", "--server-side", "--force-conflicts", "-f", "-")
	for _, tenant := range matrix.Tenants(objs) {
		for _, claim := range []string{"dataset", "model", "imagenet"} {
			e.runKubectl(t, fmt.Sprintf(volumeAndClaim, tenant, claim), "apply", "--server-side", "-f", "-")
		}
	}
	if !strings.Contains(stream.String(), `"kind":"ClusterQueue"`) {
		e.runKubectl(t, ownQueues, "apply", "--server-side", "--force-conflicts", "-f", "-")
	}
}

// volumeAndClaim is a format string for the YAML of a PersistentVolume and a PersistentVolumeClaim. The arguments of
// the format string are the namespace and the name of the claim.
const volumeAndClaim = `
apiVersion: v1
kind: PersistentVolume
metadata: {name: %[1]s-%[2]s}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteMany]
  hostPath: {path: /tmp}
  claimRef: {namespace: %[1]s, name: %[2]s}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {namespace: %[1]s, name: %[2]s}
spec:
  storageClassName: ""
  volumeName: %[1]s-%[2]s
  accessModes: [ReadWriteMany]
  resources: {requests: {storage: 1Gi}}
`

// ownQueues contains the YAML of a ClusterQueue and its flavor. trainyard does not generate these two objects for
// examples/vanilla, because this example expects them in the cluster.
const ownQueues = `
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {name: gpus}
spec:
  nodeLabels: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB}
  tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: research}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu, memory, nvidia.com/gpu, nvidia.com/mig-2g.20gb]
    flavors:
    - name: gpus
      resources:
      - {name: cpu, nominalQuota: 500}
      - {name: memory, nominalQuota: 4Ti}
      - {name: nvidia.com/gpu, nominalQuota: 32}
      - {name: nvidia.com/mig-2g.20gb, nominalQuota: 32}
`

func (e exampleCluster) expectRuns(t *testing.T, job *unstructured.Unstructured, groups []string) {
	t.Helper()
	config := rest.CopyConfig(e.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "eve", Groups: append(groups, "system:authenticated")}
	editor, err := upstream.Client(config)
	if err != nil {
		t.Fatal(err)
	}
	forever := []any{map[string]any{"name": upstream.SimulatedDuration, "value": "1h"}}
	if err := unstructured.SetNestedSlice(job.Object, forever, "spec", "trainer", "env"); err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("%s in queue %s, runtime %v", job.GetNamespace(), job.GetLabels()["kueue.x-k8s.io/queue-name"], job.Object["spec"].(map[string]any)["runtimeRef"])
	// Repeat the request until it succeeds. After objects are applied, it takes a moment until the editor's rights and
	// the caches of webhooks are up to date.
	poll.Until(t, waitTimeout, func(ctx context.Context) error {
		if err := editor.Create(ctx, job.DeepCopy()); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	})
	poll.Until(t, waitTimeout, func(ctx context.Context) error {
		if err := e.checkRunning(ctx, job); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	})
	if err := e.checkMachines(t.Context(), job); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	if err := editor.Delete(t.Context(), job, client.PropagationPolicy("Background")); err != nil {
		t.Error(err)
	}
	poll.Until(t, waitTimeout, func(ctx context.Context) error {
		var pods corev1.PodList
		if err := e.client.List(ctx, &pods, ofJob(job)...); err != nil {
			return err
		}
		if len(pods.Items) > 0 {
			return fmt.Errorf("%d pods of %s remain", len(pods.Items), name)
		}
		return nil
	})
}

func ofJob(job client.Object) []client.ListOption {
	return []client.ListOption{client.InNamespace(job.GetNamespace()), client.MatchingLabels{jobset.JobSetNameKey: job.GetName()}}
}

func (e exampleCluster) checkRunning(ctx context.Context, job client.Object) error {
	var children batchv1.JobList
	if err := e.client.List(ctx, &children, ofJob(job)...); err != nil {
		return err
	}
	byRole := map[string][]corev1.Pod{}
	for _, child := range children.Items {
		var pods corev1.PodList
		if err := e.client.List(ctx, &pods, append(ofJob(job), client.MatchingLabels{jobset.JobSetNameKey: job.GetName(), jobset.ReplicatedJobNameKey: child.Labels[jobset.ReplicatedJobNameKey]})...); err != nil {
			return err
		}
		role := child.Labels[jobset.ReplicatedJobNameKey]
		for _, pod := range pods.Items {
			if pod.Status.Phase == corev1.PodRunning && pod.Spec.NodeName != "" {
				byRole[role] = append(byRole[role], pod)
			}
		}
		if child.Status.Succeeded == 0 && len(byRole[role]) != int(*child.Spec.Parallelism) {
			return fmt.Errorf("%d of %d %s pods run: %s", len(byRole[role]), *child.Spec.Parallelism, role, e.listReasons(ctx, job))
		}
	}
	launcher, nodes := byRole[string(jobs.Launcher)], byRole[string(jobs.Node)]
	if len(launcher) == 0 || len(nodes) == 0 {
		return fmt.Errorf("%d launchers and %d nodes run: %s", len(launcher), len(nodes), e.listReasons(ctx, job))
	}
	return e.canConnect(ctx, &launcher[0], &nodes[0])
}

// checkMachines returns an error if a TrainJob that requests no devices runs on cluster nodes with GPUs. The flavor
// "cpu" is for cluster nodes without GPUs. If the ClusterQueue does not have this flavor, checkMachines accepts all
// cluster nodes.
func (e exampleCluster) checkMachines(ctx context.Context, job client.Object) error {
	var pods corev1.PodList
	if err := e.client.List(ctx, &pods, ofJob(job)...); err != nil {
		return err
	}
	for _, pod := range pods.Items {
		for _, container := range pod.Spec.Containers {
			for name := range container.Resources.Requests {
				if strings.Contains(string(name), "/") {
					return nil
				}
			}
		}
	}
	flavors, err := e.flavors(ctx, job)
	if err != nil {
		return err
	}
	for _, pod := range pods.Items {
		var node corev1.Node
		if err := e.client.Get(ctx, client.ObjectKey{Name: pod.Spec.NodeName}, &node); err != nil {
			return err
		}
		if slices.Contains(flavors, "cpu") && node.Labels["nvidia.com/gpu.product"] != "" {
			return fmt.Errorf("pod %s without devices runs on %s, which has GPUs", pod.Name, node.Name)
		}
	}
	return nil
}

func (e exampleCluster) flavors(ctx context.Context, job client.Object) ([]string, error) {
	queue, clusterQueue := kueueObject("LocalQueue"), kueueObject("ClusterQueue")
	if err := e.client.Get(ctx, client.ObjectKey{Namespace: job.GetNamespace(), Name: job.GetLabels()["kueue.x-k8s.io/queue-name"]}, queue); err != nil {
		return nil, err
	}
	name, _, err := unstructured.NestedString(queue.Object, "spec", "clusterQueue")
	if err != nil {
		return nil, err
	}
	if err := e.client.Get(ctx, client.ObjectKey{Name: name}, clusterQueue); err != nil {
		return nil, err
	}
	groups, _, err := unstructured.NestedSlice(clusterQueue.Object, "spec", "resourceGroups")
	var flavors []string
	for _, group := range groups {
		for _, flavor := range group.(map[string]any)["flavors"].([]any) {
			flavors = append(flavors, flavor.(map[string]any)["name"].(string))
		}
	}
	return flavors, err
}

func kueueObject(kind string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": kind}}
}

// mpiPort is a port of MPI traffic in all examples.
const mpiPort = 20000

// canConnect returns an error if network policies prevent connections that MPI needs. The launcher must be able to
// connect to the node by SSH. The launcher and the node must be able to connect to each other at a port of MPI.
func (e exampleCluster) canConnect(ctx context.Context, launcher, node *corev1.Pod) error {
	var policies networkingv1.NetworkPolicyList
	if err := e.client.List(ctx, &policies, client.InNamespace(launcher.Namespace)); err != nil {
		return err
	}
	for _, port := range []int32{2222, mpiPort} {
		if err := matrix.CanConnect(policies.Items, launcher, node, port); err != nil {
			return err
		}
	}
	return matrix.CanConnect(policies.Items, node, launcher, mpiPort)
}

// listReasons returns events that can explain why a job does not run: the warnings in its namespace, and Kueue's messages.
func (e exampleCluster) listReasons(ctx context.Context, job client.Object) string {
	var events corev1.EventList
	if err := e.client.List(ctx, &events, client.InNamespace(job.GetNamespace())); err != nil {
		return err.Error()
	}
	texts := map[string]bool{}
	for _, event := range events.Items {
		if event.Type == corev1.EventTypeWarning || event.Reason == "Pending" {
			texts[event.Reason+": "+event.Message] = true
		}
	}
	return fmt.Sprint(texts)
}
