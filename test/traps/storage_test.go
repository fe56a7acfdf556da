package traps

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainyard/trainyard/api/v1alpha1"
)

const storage = `storage: {
      imagenet: {claim: imagenet, path: /data, subPath: small, readOnly: true},
      home: {nfs: {server: nfs.acme.example, path: /export}},
      results: {s3: results, prefix: OUT_}, models: {s3: models}}`

// TestStorageIsInBothRoles: the runtime must mount the storage in the main containers of the launcher and the nodes,
// but not in their init containers. If the runtime did not mount a volume, each TrainJob that needs the volume would
// have to change the pods of its runtime. In Trainer 2.1 and earlier versions, such a change is called an override. In
// Trainer 2.2 and later versions, such a change is called a patch.
func TestStorageIsInBothRoles(t *testing.T) {
	for role, j := range roleJobs(t, generateRuntime(t, "", storage)) {
		want := map[string]corev1.VolumeSource{
			"storage-imagenet": {PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "imagenet"}},
			"storage-home":     {NFS: &corev1.NFSVolumeSource{Server: "nfs.acme.example", Path: "/export"}},
		}
		got := map[string]corev1.VolumeSource{}
		for _, v := range pod(j).Spec.Volumes {
			if _, ok := want[v.Name]; ok {
				got[v.Name] = v.VolumeSource
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: volumes: -want +got:\n%s", role, diff)
		}
		mounts := []corev1.VolumeMount{
			{Name: "storage-home", MountPath: "/mnt/home"},
			{Name: "storage-imagenet", MountPath: "/data", SubPath: "small", ReadOnly: true},
		}
		if diff := cmp.Diff(mounts, storageMounts(main(j))); diff != "" {
			t.Errorf("%s: mounts: -want +got:\n%s", role, diff)
		}
		for _, c := range pod(j).Spec.InitContainers {
			if len(storageMounts(c)) > 0 || len(c.EnvFrom) > 0 {
				t.Errorf("%s/%s mounts storage or reads its variables, want neither", role, c.Name)
			}
		}
	}
}

func storageMounts(c corev1.Container) []corev1.VolumeMount {
	var found []corev1.VolumeMount
	for _, m := range c.VolumeMounts {
		if strings.HasPrefix(m.Name, "storage-") || m.Name == "initializer" {
			found = append(found, m)
		}
	}
	return found
}

// TestObjectStoresAreVariables: S3 clients read the settings of a connection from environment variables. If a runtime
// has two connections, a prefix distinguishes their variables.
func TestObjectStoresAreVariables(t *testing.T) {
	want := []corev1.EnvFromSource{
		{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "models"}}},
		{Prefix: "OUT_", SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "results"}}},
	}
	for role, j := range roleJobs(t, generateRuntime(t, "", storage)) {
		if diff := cmp.Diff(want, main(j).EnvFrom); diff != "" {
			t.Errorf("%s: envFrom: -want +got:\n%s", role, diff)
		}
	}
}

// TestInitializersRunFirst: Trainer identifies an initializer by its label and the name of its container. In a
// JobSet, a job can depend only on jobs that the JobSet lists before it, so the initializers must come first.
func TestInitializersRunFirst(t *testing.T) {
	ctr := generateRuntime(t, `gang: kueue, trainer: "2.2"`, `storage: {data: {claim: data, subPath: d}, models: {claim: models}},
      initializers: {model: {storage: models}, dataset: {storage: data, uri: "hf://acme/data", secret: token, env: {HTTPS_PROXY: "http://proxy"}}}`)
	var order []string
	for _, j := range ctr.Spec.Template.Spec.ReplicatedJobs {
		order = append(order, j.Name)
	}
	if diff := cmp.Diff([]string{"dataset-initializer", "model-initializer", "launcher", "node"}, order); diff != "" {
		t.Errorf("jobs: -want +got:\n%s", diff)
	}
	dependencies := []jobset.DependsOn{
		{Name: "dataset-initializer", Status: jobset.DependencyComplete},
		{Name: "model-initializer", Status: jobset.DependencyComplete},
	}
	for role, j := range roleJobs(t, ctr) {
		if diff := cmp.Diff(dependencies, j.DependsOn); diff != "" {
			t.Errorf("%s: dependsOn: -want +got:\n%s", role, diff)
		}
	}
	fetch := replicatedJob(t, ctr, "dataset-initializer")
	if label := fetch.Template.Labels[v1alpha1.AncestorStepLabel]; label != "dataset-initializer" {
		t.Errorf("the label is %q, want dataset-initializer", label)
	}
	c := main(fetch)
	if c.Name != "dataset-initializer" || c.Image != "ghcr.io/kubeflow/trainer/dataset-initializer:v2.2.0" {
		t.Errorf("container %s with image %s, want dataset-initializer with Trainer's image for 2.2", c.Name, c.Image)
	}
	env := []corev1.EnvVar{{Name: "HOME", Value: "/tmp"}, {Name: "STORAGE_URI", Value: "hf://acme/data"}, {Name: "HTTPS_PROXY", Value: "http://proxy"}}
	if diff := cmp.Diff(env, c.Env); diff != "" {
		t.Errorf("env: -want +got:\n%s", diff)
	}
	// The program in the initializer's image writes to /workspace/dataset, so the initializer mounts its storage there.
	// Ranks mount the same storage, and find the files at the root of their mount. Since Trainer 2.3, Trainer's webhook
	// requires the volume name "initializer".
	if diff := cmp.Diff([]corev1.VolumeMount{{Name: "initializer", MountPath: "/workspace/dataset", SubPath: "d"}}, storageMounts(c)); diff != "" {
		t.Errorf("mounts: -want +got:\n%s", diff)
	}
}

// TestReferencesComeLast: a variable with a reference such as $(NAME) must come after the referenced variable. The
// kubelet expands $(NAME) in a variable only if the variable NAME comes earlier in the list of variables. The text
// $$(NAME) is not a reference.
func TestReferencesComeLast(t *testing.T) {
	for _, value := range []string{"z", "$$(HOME)", "$$$$(HOME)", "a $$", "$A"} {
		for role, j := range roleJobs(t, generateRuntime(t, "", `env: {A: "$(Z)/a", Z: "`+value+`"}`)) {
			at := map[string]int{}
			for i, v := range main(j).Env {
				at[v.Name] = i
			}
			if at["A"] < at["Z"] {
				t.Errorf("%s: variable A at position %d refers to Z: %s at position %d, want Z first", role, at["A"], value, at["Z"])
			}
		}
	}
}
