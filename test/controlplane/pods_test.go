package controlplane_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainyard/trainyard/test/controlplane"
	"github.com/trainyard/trainyard/test/matrix"
)

// TestAllPodsAreCreated submits a TrainJob for each combination of a tenant, a runtime and a queue in the
// examples acme and vanilla. An editor of the tenant submits each TrainJob, while all policies and quotas are
// in force. All pods must be created. They stay Pending, because the control plane has no cluster nodes.
func TestAllPodsAreCreated(t *testing.T) {
	cp := controlplane.Start(t, controlplane.Pods(), controlplane.Alone(t.Name()))
	for _, example := range []string{"acme", "vanilla"} {
		for environment, objs := range generateWithLayers(t, example, testedVersions[0]) {
			t.Run(strings.Trim(example+" "+environment, " "), func(t *testing.T) {
				createNamespaces(t, cp, objs)
				apply(t, cp, objs...)
				for _, runtime := range matrix.Runtimes(objs) {
					awaitRuntime(t, cp, runtime)
				}
				for _, tenant := range matrix.Tenants(objs) {
					awaitPolicy(t, cp, tenant)
					for _, job := range matrix.TrainJobs(objs, tenant) {
						expectAllPods(t, cp, job)
					}
				}
			})
		}
	}
}

// TestRepeatedAffinityKeysAreRefused uses a runtime whose affinity has the same key in labelSelector and in
// matchLabelKeys. The API server must accept the runtime, but refuse the pods of the runtime. `trainyard vet`
// therefore refuses documents with a repeated key, so that users notice the mistake before they submit a TrainJob.
func TestRepeatedAffinityKeysAreRefused(t *testing.T) {
	cp := controlplane.Start(t, controlplane.Pods())
	runtime := generateDocument(t, `{apiVersion: trainyard.dev/v1alpha1, kind: Platform, metadata: {name: affinity}, spec: {runtimes: {mpi: {
		from: openmpi-cpu, image: a, affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [
			{topologyKey: zone, labelSelector: {matchLabels: {app: a}}, matchLabelKeys: [jobset.sigs.k8s.io/jobset-name]}]}}}}}}`)[0].(*unstructured.Unstructured)
	text, err := runtime.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	repeated := strings.ReplaceAll(string(text), `"matchLabels":{"app":"a"}`, `"matchLabels":{"jobset.sigs.k8s.io/jobset-name":"a"}`)
	if err := runtime.UnmarshalJSON([]byte(repeated)); err != nil || repeated == string(text) {
		t.Fatalf("changing the selector: %v", err)
	}
	installRuntime(t, cp, runtime)
	namespace := cp.Namespace(t)
	apply(t, cp, newJob(runtime, "job", namespace).Nodes(2).Obj())
	controlplane.Eventually(t, func(ctx context.Context) error {
		if got := listWarnings(ctx, t, cp, namespace); !strings.Contains(got, "exists in both") {
			return fmt.Errorf("want a warning about the key, got: %s", got)
		}
		return nil
	})
}

func expectAllPods(t *testing.T, cp *controlplane.ControlPlane, job *unstructured.Unstructured) {
	t.Helper()
	tenant := job.GetNamespace()
	editor := clientAs(t, cp, "eve", strings.TrimPrefix(tenant, "team-"), "system:authenticated")
	if err := editor.Create(t.Context(), job); err != nil {
		t.Errorf("a TrainJob of %v: %v", job.Object["spec"], err)
		return
	}
	selector := client.MatchingLabels{jobset.JobSetNameKey: job.GetName()}
	controlplane.Eventually(t, func(ctx context.Context) error {
		var jobs batchv1.JobList
		if err := cp.Client().List(ctx, &jobs, client.InNamespace(tenant), selector); err != nil {
			return err
		}
		roles := map[string]bool{}
		for _, each := range jobs.Items {
			role := each.Labels[jobset.ReplicatedJobNameKey]
			roles[role] = true
			if ended := each.Status.Succeeded > 0; !ended && each.Status.Active != *each.Spec.Parallelism {
				return fmt.Errorf("%v: %s has %d of %d pods: %s", job.Object["spec"], role, each.Status.Active, *each.Spec.Parallelism, listWarnings(ctx, t, cp, tenant))
			}
			if strings.HasSuffix(role, "-initializer") {
				setSucceeded(ctx, t, cp, tenant, job.GetName(), role)
			}
		}
		if !roles["launcher"] || !roles["node"] {
			return fmt.Errorf("%v: there are jobs for %v only: %s", job.Object["spec"], roles, listWarnings(ctx, t, cp, tenant))
		}
		return nil
	})
	if err := editor.Delete(t.Context(), job, client.PropagationPolicy("Background")); err != nil {
		t.Error(err)
	}
	controlplane.Eventually(t, func(ctx context.Context) error {
		var pods corev1.PodList
		if err := cp.Client().List(ctx, &pods, client.InNamespace(tenant), selector); err != nil || len(pods.Items) > 0 {
			return fmt.Errorf("%d pods of %s remain: %w", len(pods.Items), job.GetName(), err)
		}
		return nil
	})
}

// setSucceeded sets the status of an initializer's pods as a kubelet does when the pods have succeeded.
func setSucceeded(ctx context.Context, t *testing.T, cp *controlplane.ControlPlane, namespace, job, role string) {
	t.Helper()
	for _, pod := range podsOf(ctx, t, cp, namespace, role) {
		if pod.Labels[jobset.JobSetNameKey] == job && pod.Status.Phase != corev1.PodSucceeded {
			pod.Status.Phase = corev1.PodSucceeded
			if err := cp.Client().Status().Update(ctx, &pod); err != nil {
				t.Log(err)
			}
		}
	}
}
