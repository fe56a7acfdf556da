package traps

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainyard/trainyard/api/v1alpha1"
)

// TestGangHasItsScheduler: Trainer creates a PodGroup but does not set schedulerName. The PodGroup has an effect only
// if every pod has the right schedulerName, so the runtime must set this field.
func TestGangHasItsScheduler(t *testing.T) {
	seconds := func(n int32) *trainer.PodGroupPolicy {
		return &trainer.PodGroupPolicy{PodGroupPolicySource: trainer.PodGroupPolicySource{
			Coscheduling: &trainer.CoschedulingPodGroupPolicySource{ScheduleTimeoutSeconds: &n},
		}}
	}
	volcano := &trainer.PodGroupPolicy{PodGroupPolicySource: trainer.PodGroupPolicySource{Volcano: &trainer.VolcanoPodGroupPolicySource{}}}
	cases := map[string]struct {
		target, settings string
		policy           *trainer.PodGroupPolicy
		scheduler        string
		priority         string
		annotation       string // the annotation trainyard.dev/gang, with settings that the controller applies
	}{
		"without a gang, there is no policy":             {"", "", nil, "", "", ""},
		"a priority works without a gang":                {"", "gang: {priorityClass: high}", nil, "", "high", ""},
		"another scheduler works without a gang":         {"schedulerName: packer", "", nil, "packer", "", ""},
		"Kueue admits jobs and schedules no pods":        {"gang: kueue", "", nil, "", "", ""},
		"settings that Kueue lacks are in an annotation": {"gang: kueue", "gang: {timeout: 10m, priorityClass: high}", nil, "", "", `{"priorityClass":"high","timeoutSeconds":600}`},
		"coscheduling waits a minute by default":         {"gang: coscheduling", "", seconds(60), "scheduler-plugins-scheduler", "", ""},
		"coscheduling with a timeout":                    {"gang: coscheduling", "gang: {timeout: 2h, minAvailable: all}", seconds(7200), "scheduler-plugins-scheduler", "", ""},
		"coscheduling under another name":                {"gang: coscheduling, schedulerName: secondary", "gang: {priorityClass: high}", seconds(60), "secondary", "high", ""},
		"a timeout for Volcano is in an annotation":      {"gang: volcano", "gang: {timeout: 90s, priorityClass: high}", volcano, "volcano", "high", `{"timeoutSeconds":90}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			ctr := generateRuntime(t, tc.target, tc.settings)
			if diff := cmp.Diff(tc.policy, ctr.Spec.PodGroupPolicy); diff != "" {
				t.Errorf("podGroupPolicy: -want +got:\n%s", diff)
			}
			if got := ctr.Annotations[v1alpha1.GangAnnotation]; got != tc.annotation {
				t.Errorf("annotation trainyard.dev/gang = %q, want %q", got, tc.annotation)
			}
			for role, j := range roleJobs(t, ctr) {
				if got := pod(j).Spec; got.SchedulerName != tc.scheduler || got.PriorityClassName != tc.priority {
					t.Errorf("%s: scheduler %q, priority class %q, want %q and %q", role, got.SchedulerName, got.PriorityClassName, tc.scheduler, tc.priority)
				}
			}
		})
	}
}

// TestRolesDoNotWaitForEachOther: the launcher and the nodes wait for initializers, but not for each other. A gang
// scheduler starts the pods of the launcher and the nodes only when all of these pods exist. A deadlock would occur if
// JobSet created the launcher only after the nodes have started, or the nodes only after the launcher has started. The
// jobs "launcher" and "node" must therefore not depend on each other with dependsOn, and must have no startup order. If
// the launcher waited for the nodes, its preflight check could not report a node that never becomes ready.
func TestRolesDoNotWaitForEachOther(t *testing.T) {
	for _, target := range []string{"", "gang: none", "gang: kueue", "gang: coscheduling", "gang: volcano"} {
		spec := generateRuntime(t, target, "").Spec.Template.Spec
		for _, j := range spec.ReplicatedJobs {
			if len(j.DependsOn) > 0 {
				t.Errorf("target {%s}: %s depends on %v, want nothing", target, j.Name, j.DependsOn)
			}
		}
		if spec.StartupPolicy != nil {
			t.Errorf("target {%s}: startupPolicy = %v, want none", target, spec.StartupPolicy)
		}
		if spec.TTLSecondsAfterFinished != nil {
			t.Errorf("target {%s}: want no TTL, because it deletes the JobSet, and a failed TrainJob then runs again", target)
		}
	}
}

// TestPlacementIsForRanks checks that a setting for placement, such as a nodeSelector, applies only to the launcher and
// the nodes. Ranks run only in the launcher and the nodes. Initializers need no GPUs, so they must not be bound to
// cluster nodes with GPUs.
func TestPlacementIsForRanks(t *testing.T) {
	ctr := generateRuntime(t, "", `nodeSelector: {pool: gpu}, annotations: {k8s.v1.cni.cncf.io/networks: rdma},
      tolerations: [{key: gpu, operator: Exists}], storage: {data: {claim: data}}, initializers: {dataset: {storage: data}},
      affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [a]}]}]}}}`)
	affinity := &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: "In", Values: []string{"a"}}}}},
	}}}
	for role, j := range roleJobs(t, ctr) {
		spec := pod(j).Spec
		want := corev1.PodSpec{NodeSelector: map[string]string{"pool": "gpu"}, Tolerations: []corev1.Toleration{{Key: "gpu", Operator: "Exists"}}, Affinity: affinity}
		got := corev1.PodSpec{NodeSelector: spec.NodeSelector, Tolerations: spec.Tolerations, Affinity: spec.Affinity}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: placement: -want +got:\n%s", role, diff)
		}
		annotations := map[string]string{"k8s.v1.cni.cncf.io/networks": "rdma", "sidecar.istio.io/inject": "false"}
		if diff := cmp.Diff(annotations, pod(j).Annotations); diff != "" {
			t.Errorf("%s: annotations: -want +got:\n%s", role, diff)
		}
	}
	fetch := pod(replicatedJob(t, ctr, "dataset-initializer"))
	if fetch.Spec.NodeSelector != nil || fetch.Spec.Affinity != nil || fetch.Spec.Tolerations != nil || len(fetch.Annotations) != 1 {
		t.Errorf("the initializer has placement %v %v %v %v, want none", fetch.Spec.NodeSelector, fetch.Spec.Affinity, fetch.Spec.Tolerations, fetch.Annotations)
	}
}

// TestLauncherCanHaveItsOwnResources: Trainer derives the number of slots of each host from the launcher's
// resources. This number can be wrong, for example if only the nodes have GPUs. The runtime must then set
// the number of slots itself.
func TestLauncherCanHaveItsOwnResources(t *testing.T) {
	cases := map[string]struct {
		base, settings string
		procs          int32
		launcher, node map[corev1.ResourceName]string
	}{
		"a launcher that is a node has the nodes' resources, and Trainer counts its GPUs": {
			"openmpi-gpu", "resources: {nvidia.com/gpu: 4}", 1,
			map[corev1.ResourceName]string{"cpu": "1", "memory": "2Gi", "nvidia.com/gpu": "4"},
			map[corev1.ResourceName]string{"cpu": "1", "memory": "2Gi", "nvidia.com/gpu": "4"},
		},
		"a launcher that is a node can have more memory": {
			"openmpi-gpu", "resources: {nvidia.com/gpu: 4}, launcher: {resources: {memory: 8Gi}}", 1,
			map[corev1.ResourceName]string{"cpu": "1", "memory": "8Gi", "nvidia.com/gpu": "4"},
			map[corev1.ResourceName]string{"cpu": "1", "memory": "2Gi", "nvidia.com/gpu": "4"},
		},
		"a separate launcher has no GPUs, so the runtime sets the slots": {
			"openmpi-gpu", "resources: {nvidia.com/gpu: 4}, runLauncherAsNode: false, launcher: {resources: {cpu: 500m}}", 4,
			map[corev1.ResourceName]string{"cpu": "500m", "memory": "2Gi"},
			map[corev1.ResourceName]string{"cpu": "1", "memory": "2Gi", "nvidia.com/gpu": "4"},
		},
		"a separate launcher with GPUs does not change the slots": {
			"openmpi-gpu", "resources: {nvidia.com/gpu: 4}, runLauncherAsNode: false, launcher: {resources: {nvidia.com/gpu: 2}}", 4,
			map[corev1.ResourceName]string{"cpu": "1", "memory": "2Gi", "nvidia.com/gpu": "2"},
			map[corev1.ResourceName]string{"cpu": "1", "memory": "2Gi", "nvidia.com/gpu": "4"},
		},
		"with two GPU resources, of which Trainer would choose any one, the runtime sets the slots": {
			"openmpi-gpu", "resources: {nvidia.com/gpu: 1, amd.com/gpu: 2}", 3,
			map[corev1.ResourceName]string{"cpu": "1", "memory": "2Gi", "nvidia.com/gpu": "1", "amd.com/gpu": "2"},
			map[corev1.ResourceName]string{"cpu": "1", "memory": "2Gi", "nvidia.com/gpu": "1", "amd.com/gpu": "2"},
		},
		"GPUs and GPU slices are added up": {
			"openmpi-gpu", "resources: {nvidia.com/gpu: 1, nvidia.com/mig-1g.5gb: 3}", 4,
			map[corev1.ResourceName]string{"cpu": "1", "memory": "2Gi", "nvidia.com/gpu": "1", "nvidia.com/mig-1g.5gb": "3"},
			map[corev1.ResourceName]string{"cpu": "1", "memory": "2Gi", "nvidia.com/gpu": "1", "nvidia.com/mig-1g.5gb": "3"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			ctr := generateFrom(t, tc.base, "", tc.settings)
			if got := *ctr.Spec.MLPolicy.MPI.NumProcPerNode; got != tc.procs {
				t.Errorf("numProcPerNode = %d, want %d", got, tc.procs)
			}
			for role, want := range map[string]map[corev1.ResourceName]string{"launcher": tc.launcher, "node": tc.node} {
				expectResources(t, replicatedJob(t, ctr, role), want)
			}
		})
	}
}

// expectResources checks the resources of the main container of a job. It also checks that each init container has the
// same CPU and memory as the main container. If an init container requested more than the main container, the resource
// request of the whole pod would increase.
func expectResources(t *testing.T, j jobset.ReplicatedJob, want map[corev1.ResourceName]string) {
	t.Helper()
	text := func(list corev1.ResourceList) map[corev1.ResourceName]string {
		written := map[corev1.ResourceName]string{}
		for name, quantity := range list {
			written[name] = quantity.String()
		}
		return written
	}
	for _, bound := range []corev1.ResourceList{main(j).Resources.Limits, main(j).Resources.Requests} {
		if diff := cmp.Diff(want, text(bound)); diff != "" {
			t.Errorf("%s: resources: -want +got:\n%s", j.Name, diff)
		}
	}
	for _, c := range pod(j).Spec.InitContainers {
		own := map[corev1.ResourceName]string{"cpu": want["cpu"], "memory": want["memory"]}
		if c.Name == "identity" {
			own["ephemeral-storage"] = "4Gi" // one init container requests the ephemeral storage for the whole pod
		}
		if diff := cmp.Diff(own, text(c.Resources.Limits)); diff != "" {
			t.Errorf("%s/%s: limits: -want +got:\n%s", j.Name, c.Name, diff)
		}
	}
}

// TestQuantitiesAreCanonical: the runtime must contain quantities in canonical form. Up to version 2.1, Trainer's
// controller converts quantities in other forms to the canonical form when a TrainJob uses the runtime. The controller
// then becomes the owner of the changed fields, so a second server-side apply of the same file fails with a conflict.
func TestQuantitiesAreCanonical(t *testing.T) {
	cases := map[string]struct {
		settings                string
		cpu, memory, sharedSize string
	}{
		"fractions of a CPU":            {`resources: {cpu: 1.5, memory: 2Gi}, sharedMemory: 1Gi`, "1500m", "2Gi", "1Gi"},
		"a whole number of CPUs":        {`resources: {cpu: "2000m", memory: 2Gi}, sharedMemory: 1Gi`, "2", "2Gi", "1Gi"},
		"a number with a decimal point": {`resources: {cpu: 4.0, memory: 2Gi}, sharedMemory: 1Gi`, "4", "2Gi", "1Gi"},
		"memory in smaller units":       {`resources: {cpu: 1, memory: 2048Mi}, sharedMemory: 1024Mi`, "1", "2Gi", "1Gi"},
		"decimal units":                 {`resources: {cpu: 1, memory: 2000M}, sharedMemory: 1500M`, "1", "2G", "1500M"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var written map[string]any
			raw := generateText(t, "openmpi-cpu", "", tc.settings)
			if err := json.Unmarshal(raw, &written); err != nil {
				t.Fatal(err)
			}
			for key, want := range map[string]string{"cpu": tc.cpu, "memory": tc.memory, "sizeLimit": tc.sharedSize} {
				values := slices.DeleteFunc(findValues(written, key), func(v any) bool {
					return key == "sizeLimit" && (v == "128Mi" || v == "4Gi") // the sizes of /mpi-run and /tmp
				})
				if len(values) == 0 {
					t.Errorf("the runtime has no %s", key)
				}
				for _, got := range values {
					if got != want {
						t.Errorf("%s is %v, want %s", key, got, want)
					}
				}
			}
		})
	}
}

func findValues(value any, key string) []any {
	var found []any
	switch value := value.(type) {
	case map[string]any:
		for k, v := range value {
			if k == key {
				found = append(found, v)
			}
			found = append(found, findValues(v, key)...)
		}
	case []any:
		for _, v := range value {
			found = append(found, findValues(v, key)...)
		}
	}
	return found
}
