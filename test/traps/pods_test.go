package traps

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainyard/trainyard/api/v1alpha1"
)

// TestLabelsReachPods: pod templates must have the labels by which network policies select pods. Trainer and JobSet
// do not copy the labels of the runtime or of the JobSet to pods.
func TestLabelsReachPods(t *testing.T) {
	for name, j := range roleJobs(t, generateRuntime(t, "", "")) {
		want := map[string]string{
			"sidecar.istio.io/inject": "false",
			v1alpha1.RoleLabel:        name,
			v1alpha1.RuntimeLabel:     "mpi",
		}
		if diff := cmp.Diff(want, pod(j).Labels); diff != "" {
			t.Errorf("%s: pod labels: -want +got:\n%s", name, diff)
		}
	}
}

// TestIstioInjectsNoSidecar: with Istio's sidecar in a pod, SSH fails, and the JobSet never completes. Pods must
// therefore have an annotation and a label with the key sidecar.istio.io/inject and the value "false". Older versions
// of Istio read the annotation, and newer versions read the label.
func TestIstioInjectsNoSidecar(t *testing.T) {
	for name, j := range roleJobs(t, generateRuntime(t, "", "")) {
		const key = "sidecar.istio.io/inject"
		if l, a := pod(j).Labels[key], pod(j).Annotations[key]; l != "false" || a != "false" {
			t.Errorf("%s: label %q, annotation %q, want false in both", name, l, a)
		}
	}
}

// TestRuntimeIsListed: a runtime must have the labels by which trainyard's commands find it. It must also
// have the framework label, because the Kubeflow SDK ignores runtimes without this label.
func TestRuntimeIsListed(t *testing.T) {
	ctr := generateRuntime(t, "", "limits: {maxNodes: 16}")
	want := map[string]string{
		v1alpha1.ManagedByLabel: "trainyard",
		v1alpha1.FrameworkLabel: "mpi",
		v1alpha1.MPILabel:       "openmpi",
		v1alpha1.PlatformLabel:  "acme",
		v1alpha1.RuntimeLabel:   "mpi",
	}
	if diff := cmp.Diff(want, ctr.Labels); diff != "" {
		t.Errorf("labels: -want +got:\n%s", diff)
	}
	var limits map[string]int
	if err := json.Unmarshal([]byte(ctr.Annotations[v1alpha1.LimitsAnnotation]), &limits); err != nil {
		t.Fatalf("reading the limits annotation: %v", err)
	}
	if diff := cmp.Diff(map[string]int{"maxNodes": 16, "maxProcPerNode": 8, "maxGPUsPerNode": 16}, limits); diff != "" {
		t.Errorf("limits: -want +got:\n%s", diff)
	}
}

// TestUserFitsTheCluster: OpenShift's SecurityContextConstraints restricted-v2 refuse pods with a fixed user or group. On
// other clusters, a pod needs a fixed group to read the private SSH key, because Trainer 2.3 mounts the key with mode
// 0640.
func TestUserFitsTheCluster(t *testing.T) {
	uid := func(n int64) *int64 { return &n }
	yes := true
	seccomp := &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
	cases := map[string]struct {
		target, settings string
		want             *corev1.PodSecurityContext
	}{
		"a fixed user and group by default": {
			"", "", &corev1.PodSecurityContext{RunAsNonRoot: &yes, RunAsUser: uid(1000), RunAsGroup: uid(1000), FSGroup: uid(1000), SeccompProfile: seccomp},
		},
		"another user": {
			"", "user: 4242", &corev1.PodSecurityContext{RunAsNonRoot: &yes, RunAsUser: uid(4242), RunAsGroup: uid(4242), FSGroup: uid(4242), SeccompProfile: seccomp},
		},
		"none on OpenShift": {
			"openshift: true", "", &corev1.PodSecurityContext{RunAsNonRoot: &yes, SeccompProfile: seccomp},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for role, j := range roleJobs(t, generateRuntime(t, tc.target, tc.settings)) {
				if diff := cmp.Diff(tc.want, pod(j).Spec.SecurityContext); diff != "" {
					t.Errorf("%s: securityContext: -want +got:\n%s", role, diff)
				}
			}
		})
	}
}

// TestContainersAreRestricted: every container must satisfy the Pod Security Standard "restricted" and OpenShift's
// SecurityContextConstraints restricted-v2.
func TestContainersAreRestricted(t *testing.T) {
	for role, j := range roleJobs(t, generateRuntime(t, "", "readOnlyRootFilesystem: true")) {
		yes, no := true, false
		want := &corev1.SecurityContext{
			AllowPrivilegeEscalation: &no,
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			ReadOnlyRootFilesystem:   &yes,
		}
		for _, c := range append(pod(j).Spec.InitContainers, main(j)) {
			if diff := cmp.Diff(want, c.SecurityContext); diff != "" {
				t.Errorf("%s/%s: securityContext: -want +got:\n%s", role, c.Name, diff)
			}
		}
	}
}

// TestEnvironmentReachesBothRoles: a runtime must set its variables both in the launcher and in the nodes. Trainer
// always gives the variables of a TrainJob to the launcher. Trainer gives these variables to the nodes only if
// runLauncherAsNode is true. The runtime therefore cannot rely on Trainer to set variables in the nodes.
func TestEnvironmentReachesBothRoles(t *testing.T) {
	for role, j := range roleJobs(t, generateRuntime(t, "", `env: {NCCL_DEBUG: INFO, HOME: /workspace}`)) {
		got := map[string]string{}
		for _, e := range main(j).Env {
			if _, twice := got[e.Name]; twice {
				t.Errorf("%s: %s is set twice", role, e.Name)
			}
			got[e.Name] = e.Value
		}
		want := map[string]string{"NCCL_DEBUG": "INFO", "HOME": "/workspace"}
		if role == "launcher" {
			// Without the next three variables, Open MPI 5 would run every rank in the launcher.
			want["PRTE_MCA_prte_default_hostfile"] = "/etc/mpi/hostfile"
			want["PRTE_MCA_prte_keep_fqdn_hostnames"] = "false"
			want["PRTE_MCA_plm_ssh_args"] = "-o ConnectionAttempts=10"
			// Without PRTE_MCA_plm_ssh_no_tree_spawn, Open MPI 5 could not start ranks on more than
			// 65 hosts.
			want["PRTE_MCA_plm_ssh_no_tree_spawn"] = "1"
			// Without the two variables for the binding policy, the ranks of several pods would
			// share one core.
			want["OMPI_MCA_hwloc_base_binding_policy"] = "none"
			want["PRTE_MCA_hwloc_default_binding_policy"] = "none"
			// Without OMPI_MCA_btl_vader_single_copy_mechanism, Open MPI 4 would report an error
			// for each message.
			want["OMPI_MCA_btl_vader_single_copy_mechanism"] = "none"
			// Without OMPI_MCA_orte_fork_agent and OMPI_PRTERUN, the launcher's ranks would start one thread
			// for each CPU of the machine.
			want["OMPI_MCA_orte_fork_agent"] = "sh /mpi-run/rank"
			want["OMPI_PRTERUN"] = "/mpi-run/prterun"
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: env: -want +got:\n%s", role, diff)
		}
	}
}

// TestVolumesDoNotClash: Trainer adds the volumes mpi-ssh-auth and mpi-hostfile to pods, and overwrites existing
// volumes with these names. The runtime must not contain volumes with these names, but must contain every other
// volume that a container mounts.
func TestVolumesDoNotClash(t *testing.T) {
	for role, j := range roleJobs(t, generateRuntime(t, "", "sharedMemory: 4Gi")) {
		known := map[string]bool{"mpi-ssh-auth": true, "mpi-hostfile": role == "launcher"}
		for _, v := range pod(j).Spec.Volumes {
			if known[v.Name] {
				t.Errorf("%s: volume %s has a name that Trainer uses", role, v.Name)
			}
			known[v.Name] = true
			if v.Name == "shm" && (v.EmptyDir.Medium != corev1.StorageMediumMemory || v.EmptyDir.SizeLimit.String() != "4Gi") {
				t.Errorf("%s: shm is %v, want 4Gi of memory", role, v.EmptyDir)
			}
		}
		for _, c := range append(pod(j).Spec.InitContainers, main(j)) {
			for _, m := range c.VolumeMounts {
				if !known[m.Name] {
					t.Errorf("%s/%s mounts %s, which the pod does not have", role, c.Name, m.Name)
				}
			}
		}
	}
}

// TestIdentityRunsBeforePreflight: a container cannot both write the file passwd and mount this file. The init
// container "identity" therefore writes the file first. The other containers then start and mount the file.
func TestIdentityRunsBeforePreflight(t *testing.T) {
	want := map[string][]string{"launcher": {"identity", "preflight"}, "node": {"identity"}}
	for role, j := range roleJobs(t, generateRuntime(t, "", "")) {
		var names []string
		for _, c := range pod(j).Spec.InitContainers {
			names = append(names, c.Name)
			for _, m := range c.VolumeMounts {
				if m.SubPath != "" && c.Name == "identity" {
					t.Errorf("%s/identity mounts %s, which it writes itself", role, m.SubPath)
				}
			}
		}
		if diff := cmp.Diff(want[role], names); diff != "" {
			t.Errorf("%s: init containers: -want +got:\n%s", role, diff)
		}
	}
}

// TestPreflightSettings: the preflight script reads its settings from the environment.
func TestPreflightSettings(t *testing.T) {
	cases := map[string]struct{ settings, seconds, oversubscribe string }{
		"ten minutes by default": {"", "600", "false"},
		"seconds":                {"preflight: {timeout: 90s}", "90", "false"},
		"hours, oversubscribed":  {"preflight: {timeout: 2h, oversubscribe: true}", "7200", "true"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			preflight := pod(replicatedJob(t, generateRuntime(t, "", tc.settings), "launcher")).Spec.InitContainers[1]
			got := map[string]string{}
			for _, e := range preflight.Env {
				got[e.Name] = e.Value
			}
			want := map[string]string{
				"PREFLIGHT_TIMEOUT_SECONDS": tc.seconds,
				"PREFLIGHT_OVERSUBSCRIBE":   tc.oversubscribe,
				"PREFLIGHT_SLOTS_COMMAND":   "sh /mpi-run/cpus",
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("environment of preflight: -want +got:\n%s", diff)
			}
		})
	}
}

// TestServiceVariablesAreDisabled: service links must be disabled. With service links, Kubernetes adds variables to a
// pod for each Service of the namespace. In a namespace with many Services, a pod would get more than 128 variables,
// but sshd accepts at most 128 forwarded variables.
func TestServiceVariablesAreDisabled(t *testing.T) {
	for role, j := range roleJobs(t, generateRuntime(t, "", "")) {
		spec := pod(j).Spec
		if spec.EnableServiceLinks == nil || *spec.EnableServiceLinks {
			t.Errorf("%s: service links are enabled", role)
		}
		if spec.AutomountServiceAccountToken == nil || *spec.AutomountServiceAccountToken {
			t.Errorf("%s: a service account token is mounted", role)
		}
	}
}
