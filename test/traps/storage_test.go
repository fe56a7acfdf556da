package traps

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
)

const storage = `storage: {
      imagenet: {claim: imagenet, path: /data, subPath: small, readOnly: true},
      home: {nfs: {server: nfs.acme.example, path: /export}},
      results: {s3: results, prefix: OUT_}, models: {s3: models}}`

// TestStorageIsInBothRoles: a TrainJob cannot mount anything in Trainer's versions
// up to 2.1, and from 2.2 on only with patches; so the runtime mounts it, in the
// containers that run ranks and in no other.
func TestStorageIsInBothRoles(t *testing.T) {
	for role, j := range roles(t, generate(t, "", storage)) {
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
				t.Errorf("%s/%s: sees the storage", role, c.Name)
			}
		}
	}
}

func storageMounts(c corev1.Container) []corev1.VolumeMount {
	var found []corev1.VolumeMount
	for _, m := range c.VolumeMounts {
		if len(m.Name) > 8 && m.Name[:8] == "storage-" {
			found = append(found, m)
		}
	}
	return found
}

// TestObjectStoresAreVariables: S3 clients read a data connection from the
// environment; a prefix tells two of them apart.
func TestObjectStoresAreVariables(t *testing.T) {
	want := []corev1.EnvFromSource{
		{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "models"}}},
		{Prefix: "OUT_", SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "results"}}},
	}
	for role, j := range roles(t, generate(t, "", storage)) {
		if diff := cmp.Diff(want, main(j).EnvFrom); diff != "" {
			t.Errorf("%s: -want +got:\n%s", role, diff)
		}
	}
}

// TestInitializersRunFirst: Trainer finds an initializer by its label and its
// container's name; JobSet lets no job wait for one that is listed after it.
func TestInitializersRunFirst(t *testing.T) {
	ctr := generate(t, `gang: kueue, trainer: "2.2"`, `storage: {data: {claim: data, subPath: d}, models: {claim: models}},
      initializers: {model: {storage: models}, dataset: {storage: data, uri: "hf://acme/data", secret: token, env: {HTTPS_PROXY: "http://proxy"}}}`)
	var order []string
	for _, j := range ctr.Spec.Template.Spec.ReplicatedJobs {
		order = append(order, j.Name)
	}
	if diff := cmp.Diff([]string{"dataset-initializer", "model-initializer", "launcher", "node"}, order); diff != "" {
		t.Errorf("jobs: -want +got:\n%s", diff)
	}
	waits := []jobset.DependsOn{
		{Name: "dataset-initializer", Status: jobset.DependencyComplete},
		{Name: "model-initializer", Status: jobset.DependencyComplete},
	}
	for role, j := range roles(t, ctr) {
		if diff := cmp.Diff(waits, j.DependsOn); diff != "" {
			t.Errorf("%s: dependsOn: -want +got:\n%s", role, diff)
		}
	}
	fetch := job(t, ctr, "dataset-initializer")
	if label := fetch.Template.Labels["trainer.kubeflow.org/trainjob-ancestor-step"]; label != "dataset-initializer" {
		t.Errorf("labelled as %q, want dataset-initializer", label)
	}
	c := main(fetch)
	if c.Name != "dataset-initializer" || c.Image != "ghcr.io/kubeflow/trainer/dataset-initializer:v2.2.0" {
		t.Errorf("container %s of %s, want dataset-initializer of Trainer's own image for 2.2", c.Name, c.Image)
	}
	env := []corev1.EnvVar{{Name: "HOME", Value: "/tmp"}, {Name: "STORAGE_URI", Value: "hf://acme/data"}, {Name: "HTTPS_PROXY", Value: "http://proxy"}}
	if diff := cmp.Diff(env, c.Env); diff != "" {
		t.Errorf("env: -want +got:\n%s", diff)
	}
	// Where its image writes; what it writes there, ranks find at the root of their mount.
	if diff := cmp.Diff([]corev1.VolumeMount{{Name: "storage-data", MountPath: "/workspace/dataset", SubPath: "d"}}, storageMounts(c)); diff != "" {
		t.Errorf("mounts: -want +got:\n%s", diff)
	}
}

// TestReferencesComeLast: the kubelet fills in $(NAME) only if NAME stands before
// it, and sorted names say nothing of that.
func TestReferencesComeLast(t *testing.T) {
	for role, j := range roles(t, generate(t, "", `env: {A: "$(Z)/a", Z: z}`)) {
		at := map[string]int{}
		for i, v := range main(j).Env {
			at[v.Name] = i
		}
		if at["A"] < at["Z"] {
			t.Errorf("%s: A at %d refers to Z at %d", role, at["A"], at["Z"])
		}
	}
}
