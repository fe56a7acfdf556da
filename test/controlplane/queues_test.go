package controlplane_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/test/controlplane"
)

// everyQueue is a document that sets all fields of queues, except quotas for ephemeral storage.
const everyQueue = `
apiVersion: trainyard.dev/v1alpha1
kind: Platform
metadata: {name: queues}
spec:
  target: {gang: kueue, trainer: %q, kueue: %q}
  priorityClasses:
    urgent: {value: 1000, description: What cannot wait}
    spare: {value: -5}
    there: {external: true}
  queues:
    topologies: {racks: [topology.kubernetes.io/zone, topology.kubernetes.io/rack, kubernetes.io/hostname]}
    flavors:
      any: {}
      gpus:
        nodeLabels: {pool: gpus}
        tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}, {key: a, value: b, effect: NoExecute, tolerationSeconds: 5}]
        topology: racks
    clusterQueues:
      research:
        cohort: acme
        groups:
        - flavors:
          - {flavor: any, quota: {cpu: 1500m, memory: 1000M, pods: 2000}, borrowing: {cpu: 0, memory: 2Ti}, lending: {cpu: 0.5, pods: 1000}}
        - flavors:
          - {flavor: gpus, quota: {nvidia.com/gpu: 0, example.com/rdma: 8}}
        strategy: StrictFIFO
        preemption: {withinClusterQueue: LowerOrNewerEqualPriority, reclaimWithinCohort: Any, borrowWithinCohort: LowerPriority}
        namespaces: {matchLabels: {team: a}}
        stopPolicy: Hold
      plain:
        groups: [{flavors: [{flavor: any, quota: {cpu: 4, memory: 8Gi}}]}]
  runtimes:
    mpi: {from: openmpi-cpu, image: a, gang: {priorityClass: there, topology: {required: topology.kubernetes.io/rack}}}
  tenants:
    queue-team: {queues: {default: plain, other: research}}
`

// TestQueuesAreAppliedWithoutDrift applies queues to three API servers, which have the CRDs of different releases
// of Kueue. The queues use v1beta1 or v1beta2 of Kueue's API, depending on the release. The API server must accept
// every field and add no fields.
func TestQueuesAreAppliedWithoutDrift(t *testing.T) {
	for name, tc := range map[string]struct {
		trainer, kueue, api string
		options             []controlplane.Option
	}{
		"Kueue 0.19": {"2.3", "0.19", "kueue.x-k8s.io/v1beta2", nil},
		"Kueue 0.15": {"2.1", "0.15", "kueue.x-k8s.io/v1beta1", []controlplane.Option{
			controlplane.Trainer("trainer-2.1"), controlplane.CRDsOnly(), controlplane.Kueue("kueue-0.15"),
		}},
		"Kueue 0.14": {"2.1", "0.14", "kueue.x-k8s.io/v1beta1", []controlplane.Option{
			controlplane.Trainer("trainer-2.1"), controlplane.CRDsOnly(), controlplane.Kueue("kueue-0.14"),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.options != nil {
				skipUnlessAllTrainers(t)
			}
			objs := generateDocument(t, fmt.Sprintf(everyQueue, tc.trainer, tc.kueue))
			expectApplied(t, controlplane.Start(t, tc.options...), objs)
			kinds := map[string]int{}
			for _, obj := range objs {
				if kind := obj.GetObjectKind().GroupVersionKind(); kind.GroupVersion().String() == tc.api {
					kinds[kind.Kind]++
				}
			}
			want := map[string]int{"ClusterQueue": 2, "LocalQueue": 2, "ResourceFlavor": 2, "Topology": 1, "WorkloadPriorityClass": 2}
			if diff := cmp.Diff(want, kinds); diff != "" {
				t.Errorf("objects of %s: -want +got:\n%s", tc.api, diff)
			}
		})
	}
}

// TestPriorityClassesAreAppliedWithoutDrift checks that the priority classes of a document become
// PriorityClasses of Kubernetes if the document does not use Kueue.
func TestPriorityClassesAreAppliedWithoutDrift(t *testing.T) {
	objs := generateDocument(t, `{apiVersion: trainyard.dev/v1alpha1, kind: Platform, metadata: {name: priorities}, spec: {
		priorityClasses: {urgent: {value: 1000, description: What cannot wait}, spare: {value: -5, preemption: Never}, there: {external: true}},
		runtimes: {mpi: {from: openmpi-cpu, image: a, gang: {priorityClass: spare}}}}}`)
	kinds := slices.Sorted(maps.Keys(byKind(objs)))
	if diff := cmp.Diff([]string{"ClusterTrainingRuntime", "PriorityClass"}, kinds); diff != "" {
		t.Errorf("kinds: -want +got:\n%s", diff)
	}
	expectApplied(t, controlplane.Start(t), objs)
}

func generateDocument(t *testing.T, document string) []client.Object {
	t.Helper()
	return generateObjects(t, generator.Input{Name: "platform.yaml", Text: []byte(document)})
}

func byKind(objs []client.Object) map[string]int {
	kinds := map[string]int{}
	for _, obj := range objs {
		kinds[obj.GetObjectKind().GroupVersionKind().Kind]++
	}
	return kinds
}
