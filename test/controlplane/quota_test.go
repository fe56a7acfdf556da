package controlplane_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard"
	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/test/controlplane"
)

// TestResourceQuotaBoundary runs TrainJobs with Kubernetes' own quota controller. The test first checks that
// `trainyard vet` reports the expected maximum number of nodes. A TrainJob with the maximum number of nodes must get
// all of its pods, and use the whole quota. A TrainJob with one node more than the maximum must exceed the quota.
func TestResourceQuotaBoundary(t *testing.T) {
	cp := controlplane.Start(t, controlplane.Pods())
	for name, tc := range map[string]struct {
		runtime, quota string
		nodes          int
		refusal        string // the expected message about the pod that exceeds the quota
	}{
		"a launcher that is a node": {
			"{from: openmpi-cpu, image: a, resources: {cpu: 1500m, memory: 3Gi}}", "{cpu: 6, memory: 12Gi, pods: 4, trainJobs: 1}", 4,
			"requested: limits.cpu=1500m,limits.memory=3Gi,pods=1,requests.cpu=1500m,requests.memory=3Gi, " +
				"used: limits.cpu=6,limits.memory=12Gi,pods=4,requests.cpu=6,requests.memory=12Gi, " +
				"limited: limits.cpu=6,limits.memory=12Gi,pods=4,requests.cpu=6,requests.memory=12Gi",
		},
		"a launcher with resources of its own": {
			"{from: intel-mpi, image: a, resources: {cpu: 1500m, memory: 3Gi}, runLauncherAsNode: false, launcher: {resources: {cpu: 250m, memory: 1Gi}}}",
			"{cpu: 4750m, memory: 10Gi, pods: 4, trainJobs: 1}", 3, "exceeded quota: trainyard, requested:",
		},
		"a launcher with a sidecar": {
			"{from: openmpi-cpu, image: a, resources: {cpu: 200m, memory: 1Gi}, restarts: 2}", "{cpu: 800m, trainJobs: 1}", 3,
			"requested: limits.cpu=200m,requests.cpu=200m, used: limits.cpu=800m,requests.cpu=800m, limited: limits.cpu=800m,requests.cpu=800m",
		},
		"devices": {
			"{from: openmpi-gpu, image: a, resources: {nvidia.com/gpu: 2}}", "{nvidia.com/gpu: 6, trainJobs: 1}", 3,
			"requested: requests.nvidia.com/gpu=2, used: requests.nvidia.com/gpu=6, limited: requests.nvidia.com/gpu=6",
		},
		"an initializer that ends before the others start": {
			`{from: openmpi-cpu, image: a, resources: {cpu: 2, memory: 4Gi}, storage: {data: {claim: data}},
			  initializers: {dataset: {storage: data, uri: "s3://data/set", resources: {cpu: 3, memory: 8Gi}}}}`,
			"{cpu: 4, memory: 8Gi, pods: 2, trainJobs: 1}", 2, "exceeded quota: trainyard, requested:",
		},
	} {
		t.Run(name, func(t *testing.T) {
			exact, over := cp.Namespace(t), cp.Namespace(t)
			document := fmt.Sprintf(`{apiVersion: trainyard.dev/v1alpha1, kind: Platform, metadata: {name: quota}, spec: {
				runtimes: {mpi: %s}, tenants: {%s: {runtimes: [mpi], quota: %s}, %s: {runtimes: [mpi], quota: %[3]s}}}}`,
				tc.runtime, exact, tc.quota, over)
			if got := maxNodes(t, document, exact); got != tc.nodes {
				t.Fatalf("vet reports at most %d nodes, want %d", got, tc.nodes)
			}
			applyWithQuota(t, cp, document)
			expectQuotaFilled(t, cp, exact, tc.nodes)
			expectQuotaExceeded(t, cp, over, tc.nodes+1, tc.refusal)
		})
	}
}

// TestPodsRequestEphemeralStorage checks that each pod requests the ephemeral storage of its runtime, even if the
// TrainJob sets resources of its own. The test reads the total requests and the total limits of the pods from the
// status of a ResourceQuota.
func TestPodsRequestEphemeralStorage(t *testing.T) {
	cp := controlplane.Start(t, controlplane.Pods())
	namespace := cp.Namespace(t)
	installRuntime(t, cp, generateDocument(t, `{apiVersion: trainyard.dev/v1alpha1, kind: Platform, metadata: {name: disk}, spec: {
		runtimes: {mpi: {from: openmpi-cpu, image: a, ephemeralStorage: 3Gi}}}}`)[0])
	hard := corev1.ResourceList{"requests.ephemeral-storage": resource.MustParse("9Gi"), "limits.ephemeral-storage": resource.MustParse("9Gi")}
	apply(t, cp, &corev1.ResourceQuota{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ResourceQuota"},
		ObjectMeta: metav1.ObjectMeta{Name: "trainyard", Namespace: namespace},
		Spec:       corev1.ResourceQuotaSpec{Hard: hard},
	})
	controlplane.Eventually(t, func(ctx context.Context) error {
		_, err := countedQuota(ctx, cp, namespace)
		return err
	})
	runtime := &trainer.ClusterTrainingRuntime{}
	runtime.SetName("mpi")
	apply(t, cp, newJob(runtime, "job", namespace).Nodes(3).Resource(corev1.ResourceCPU, "2").Obj())
	controlplane.Eventually(t, func(ctx context.Context) error {
		quota, err := countedQuota(ctx, cp, namespace)
		if err == nil && !equality.Semantic.DeepEqual(quota.Status.Used, hard) {
			err = fmt.Errorf("used: -want +got:\n%s%s", cmp.Diff(hard, quota.Status.Used), listWarnings(ctx, t, cp, namespace))
		}
		return err
	})
}

// maxNodes returns the maximum number of nodes that a TrainJob can have within a tenant's quota, as `trainyard vet`
// reports it.
func maxNodes(t *testing.T, document, tenant string) int {
	t.Helper()
	fits, err := generator.New(trainyard.CUE).Capacity(t.Context(), requestOf(document))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range fits {
		if f.Tenant == tenant {
			return f.Nodes
		}
	}
	t.Fatalf("vet reports nothing for %s: %v", tenant, fits)
	return 0
}

func requestOf(document string) generator.Request {
	return generator.Request{Layers: []generator.Input{{Name: "platform.yaml", Text: []byte(document)}}}
}

func applyWithQuota(t *testing.T, cp *controlplane.ControlPlane, document string) {
	t.Helper()
	for _, obj := range generateDocument(t, document) {
		if isMPIRuntime(obj) {
			installRuntime(t, cp, obj)
			continue
		}
		apply(t, cp, obj)
		if obj.GetObjectKind().GroupVersionKind().Kind != "ResourceQuota" {
			continue
		}
		controlplane.Eventually(t, func(ctx context.Context) error {
			_, err := countedQuota(ctx, cp, obj.GetNamespace())
			return err
		})
	}
}

// countedQuota returns the quota of a namespace, or an error if the quota controller has not
// processed the quota yet.
func countedQuota(ctx context.Context, cp *controlplane.ControlPlane, namespace string) (*corev1.ResourceQuota, error) {
	quota := &corev1.ResourceQuota{}
	err := cp.Client().Get(ctx, client.ObjectKey{Namespace: namespace, Name: "trainyard"}, quota)
	if err == nil && !equality.Semantic.DeepEqual(quota.Spec.Hard, quota.Status.Hard) {
		err = fmt.Errorf("the quota of %s is not counted yet", namespace)
	}
	return quota, err
}

func expectQuotaFilled(t *testing.T, cp *controlplane.ControlPlane, namespace string, nodes int) {
	t.Helper()
	want := startJob(t, cp, namespace, nodes)
	controlplane.Eventually(t, func(ctx context.Context) error {
		if pods := mpiPods(ctx, t, cp, namespace); pods != want {
			return fmt.Errorf("%d pods, want %d: %s", pods, want, listWarnings(ctx, t, cp, namespace))
		}
		quota, err := countedQuota(ctx, cp, namespace)
		if err == nil && !equality.Semantic.DeepEqual(quota.Status.Used, quota.Spec.Hard) {
			err = fmt.Errorf("used: -want +got:\n%s", cmp.Diff(quota.Spec.Hard, quota.Status.Used))
		}
		return err
	})
}

// expectQuotaExceeded runs a TrainJob that exceeds the quota, and checks that an event reports the refusal and that
// pods are missing.
func expectQuotaExceeded(t *testing.T, cp *controlplane.ControlPlane, namespace string, nodes int, refusal string) {
	t.Helper()
	want := startJob(t, cp, namespace, nodes)
	controlplane.Eventually(t, func(ctx context.Context) error {
		if got := listWarnings(ctx, t, cp, namespace); !strings.Contains(got, refusal) {
			return fmt.Errorf("want a warning with %q, got: %s", refusal, got)
		}
		return nil
	})
	pods := mpiPods(t.Context(), t, cp, namespace)
	if pods >= want {
		t.Errorf("%d pods were created, want fewer than %d", pods, want)
	}
	expectMissingPods(t, cp, namespace, want-pods)
}

// expectMissingPods waits until two conditions are met. First, all Jobs in the namespace must have started. Second, the
// number of missing pods of all these Jobs together must equal the argument "want". The number of missing pods of one
// Job is its parallelism, minus its active pods and its succeeded pods. The alert TrainyardPodsNotCreated counts the
// missing pods of each TrainJob in the same way. From metrics of kube-state-metrics, the alert reads the parallelism of
// each Job, and the numbers of active and succeeded pods.
func expectMissingPods(t *testing.T, cp *controlplane.ControlPlane, namespace string, want int) {
	t.Helper()
	controlplane.Eventually(t, func(ctx context.Context) error {
		var jobs batchv1.JobList
		if err := cp.Client().List(ctx, &jobs, client.InNamespace(namespace)); err != nil {
			return err
		}
		got := 0
		for _, job := range jobs.Items {
			if job.Status.StartTime == nil || *job.Spec.Suspend {
				return fmt.Errorf("Job %s has not started", job.Name)
			}
			got += int(*job.Spec.Parallelism - job.Status.Active - job.Status.Succeeded)
		}
		if got != want {
			return fmt.Errorf("Jobs lack %d pods, want %d", got, want)
		}
		return nil
	})
}

// startJob submits a TrainJob and completes its initializers. It returns the number of the TrainJob's other pods:
// the launcher and the nodes.
func startJob(t *testing.T, cp *controlplane.ControlPlane, namespace string, nodes int) int {
	t.Helper()
	runtime := &trainer.ClusterTrainingRuntime{}
	runtime.SetName("mpi")
	job := newJob(runtime, "job", namespace).Nodes(int32(nodes)).Obj()
	apply(t, cp, job)
	if err := cp.Client().Get(t.Context(), client.ObjectKeyFromObject(runtime), runtime); err != nil {
		t.Fatal(err)
	}
	pods := nodes
	for _, replicated := range runtime.Spec.Template.Spec.ReplicatedJobs {
		if strings.HasSuffix(replicated.Name, "-initializer") {
			completePod(t, cp, namespace, replicated.Name)
		}
	}
	if !*runtime.Spec.MLPolicy.MPI.RunLauncherAsNode {
		pods++
	}
	return pods
}

// completePod sets the status of an initializer's pod as a kubelet does when the pod has succeeded.
func completePod(t *testing.T, cp *controlplane.ControlPlane, namespace, role string) {
	t.Helper()
	controlplane.Eventually(t, func(ctx context.Context) error {
		pods := podsOf(ctx, t, cp, namespace, role)
		if len(pods) == 0 {
			return fmt.Errorf("no pod of %s: %s", role, listWarnings(ctx, t, cp, namespace))
		}
		pods[0].Status.Phase = corev1.PodSucceeded
		return cp.Client().Status().Update(ctx, &pods[0])
	})
}

func mpiPods(ctx context.Context, t *testing.T, cp *controlplane.ControlPlane, namespace string) int {
	t.Helper()
	return len(podsOf(ctx, t, cp, namespace, "launcher")) + len(podsOf(ctx, t, cp, namespace, "node"))
}

func podsOf(ctx context.Context, t *testing.T, cp *controlplane.ControlPlane, namespace, role string) []corev1.Pod {
	t.Helper()
	var pods corev1.PodList
	if err := cp.Client().List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels{v1alpha1.RoleLabel: role}); err != nil {
		t.Error(err)
	}
	return pods.Items
}

func listWarnings(ctx context.Context, t *testing.T, cp *controlplane.ControlPlane, namespace string) string {
	t.Helper()
	var events corev1.EventList
	if err := cp.Client().List(ctx, &events, client.InNamespace(namespace)); err != nil {
		t.Error(err)
	}
	var messages []string
	for _, event := range events.Items {
		if event.Type == corev1.EventTypeWarning {
			messages = append(messages, event.Message)
		}
	}
	return strings.Join(messages, "\n")
}
