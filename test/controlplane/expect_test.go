package controlplane_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
)

// expectMPIJob checks every object and field on which an MPI job depends. Callers must pass a TrainJob that sets the
// number of nodes, the number of processes, an image and a command.
func expectMPIJob(t *testing.T, v version, runtime *trainer.ClusterTrainingRuntime, job *trainer.TrainJob, created *outcome) {
	t.Helper()
	asNode, nodes := *runtime.Spec.MLPolicy.MPI.RunLauncherAsNode, *job.Spec.Trainer.NumNodes
	if asNode {
		nodes = max(nodes-1, 1) // Trainer creates at least one node in addition to the launcher
	}
	expectOwners(t, created)
	expectSize(t, "launcher", &created.launcher, 1)
	expectSize(t, "node", &created.node, nodes)
	expectHostfile(t, created, asNode, nodes, *job.Spec.Trainer.NumProcPerNode)
	expectSSHKeys(t, &created.sshAuth)
	for role, child := range map[string]*batchv1.Job{"launcher": &created.launcher, "node": &created.node} {
		template := podTemplate(t, runtime, role)
		pod := child.Spec.Template
		expectLabels(t, role, template.Labels, pod.Labels)
		expectVolumes(t, v, role, created, pod.Spec)
		expectMounts(t, role, runtime, mpiContainer(t, role, template.Spec), mpiContainer(t, role, pod.Spec))
		expectSettings(t, v, role, asNode, job, mpiContainer(t, role, template.Spec), mpiContainer(t, role, pod.Spec))
		expectReferences(t, role, mpiContainer(t, role, pod.Spec))
	}
}

// expectOwners checks the owner references of the JobSet, its Jobs, the hostfile and the SSH keys.
// When a TrainJob is deleted, Kubernetes uses these references to find and delete the objects of
// the TrainJob.
func expectOwners(t *testing.T, created *outcome) {
	t.Helper()
	trainJob := owner(&created.trainJob, trainer.GroupVersion.String(), trainer.TrainJobKind)
	jobSet := owner(&created.jobSet, jobset.SchemeGroupVersion.String(), "JobSet")
	for obj, want := range map[client.Object]metav1.OwnerReference{
		&created.jobSet: trainJob, &created.hostfile: trainJob, &created.sshAuth: trainJob,
		&created.launcher: jobSet, &created.node: jobSet,
	} {
		if diff := cmp.Diff([]metav1.OwnerReference{want}, obj.GetOwnerReferences()); diff != "" {
			t.Errorf("owners of %T %s: -want +got:\n%s", obj, obj.GetName(), diff)
		}
	}
}

func owner(obj client.Object, apiVersion, kind string) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: apiVersion, Kind: kind, Name: obj.GetName(), UID: obj.GetUID(),
		Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
	}
}

// expectSize checks that a Job runs the given number of pods in parallel, and completes when all of its pods
// have succeeded.
func expectSize(t *testing.T, role string, job *batchv1.Job, pods int32) {
	t.Helper()
	want := [2]int32{pods, pods}
	got := [2]int32{ptr.Deref(job.Spec.Parallelism, -1), ptr.Deref(job.Spec.Completions, -1)}
	if got != want {
		t.Errorf("%s: parallelism and completions are %v, want %v", role, got, want)
	}
}

// expectHostfile checks the hostfile of mpirun. The hostfile must list all nodes. If the launcher is also a node,
// it must be the first entry.
func expectHostfile(t *testing.T, created *outcome, asNode bool, nodes, slots int32) {
	t.Helper()
	job := created.trainJob.Name
	var hosts []string
	if asNode {
		hosts = append(hosts, fmt.Sprintf("%s-launcher-0-0.%s slots=%d", job, job, slots))
	}
	for i := range nodes {
		hosts = append(hosts, fmt.Sprintf("%s-node-0-%d.%s slots=%d", job, i, job, slots))
	}
	want := map[string]string{"hostfile": strings.Join(hosts, "\n") + "\n"}
	if diff := cmp.Diff(want, created.hostfile.Data); diff != "" {
		t.Errorf("hostfile: -want +got:\n%s", diff)
	}
}

func expectSSHKeys(t *testing.T, secret *corev1.Secret) {
	t.Helper()
	if !ptr.Deref(secret.Immutable, false) || secret.Type != corev1.SecretTypeSSHAuth || len(secret.Data) != 2 {
		t.Errorf("SSH keys: immutable %v, type %s, %d keys; want true, %s, 2",
			ptr.Deref(secret.Immutable, false), secret.Type, len(secret.Data), corev1.SecretTypeSSHAuth)
	}
	private := privateKey(t, secret.Data["ssh-privatekey"])
	if private.Curve != elliptic.P521() {
		t.Errorf("SSH keys: private key is on %s, want P-521", private.Curve.Params().Name)
	}
	point, err := private.PublicKey.Bytes()
	if err != nil {
		t.Fatalf("SSH keys: %v", err)
	}
	public := strings.Fields(string(secret.Data["ssh-publickey"]))
	if len(public) != 2 || public[0] != "ecdsa-sha2-nistp521" {
		t.Fatalf("SSH keys: public key is %q, want a key of type ecdsa-sha2-nistp521", public)
	}
	if wire, err := base64.StdEncoding.DecodeString(public[1]); err != nil || !bytes.HasSuffix(wire, point) {
		t.Errorf("SSH keys: the public key does not match the private key (%v)", err)
	}
}

func privateKey(t *testing.T, text []byte) *ecdsa.PrivateKey {
	t.Helper()
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "EC PRIVATE KEY" {
		t.Fatalf("SSH keys: private key is not a PEM block EC PRIVATE KEY")
	}
	key, err := x509.ParseECPrivateKey(block.Bytes)
	if err != nil {
		t.Fatalf("SSH keys: %v", err)
	}
	return key
}

// expectLabels checks that the pods have the labels of the runtime's pod templates, because policies select pods by
// these labels.
func expectLabels(t *testing.T, role string, want, got map[string]string) {
	t.Helper()
	for key, value := range want {
		if got[key] != value {
			t.Errorf("%s: pod label %s is %q, want %q", role, key, got[key], value)
		}
	}
}

// expectVolumes checks the volumes that Trainer adds: the SSH keys for the launcher and the nodes, and the hostfile
// for the launcher.
func expectVolumes(t *testing.T, v version, role string, created *outcome, pod corev1.PodSpec) {
	t.Helper()
	keys := v.sshKeys
	keys.SecretName = created.sshAuth.Name
	want := map[string]corev1.VolumeSource{"mpi-ssh-auth": {Secret: &keys}}
	if role == "launcher" {
		want["mpi-hostfile"] = corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: created.hostfile.Name},
			DefaultMode:          ptr.To[int32](0o644),
			Items:                []corev1.KeyToPath{{Key: "hostfile", Path: "hostfile", Mode: ptr.To[int32](0o444)}},
		}}
	}
	got := map[string]corev1.VolumeSource{}
	for _, volume := range pod.Volumes {
		if strings.HasPrefix(volume.Name, "mpi-ssh-auth") || strings.HasPrefix(volume.Name, "mpi-hostfile") {
			got[volume.Name] = volume.VolumeSource
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: volumes: -want +got:\n%s", role, diff)
	}
}

func expectMounts(t *testing.T, role string, runtime *trainer.ClusterTrainingRuntime, template, got corev1.Container) {
	t.Helper()
	want := map[string]string{*runtime.Spec.MLPolicy.MPI.SSHAuthMountPath: "mpi-ssh-auth"}
	if role == "launcher" {
		want["/etc/mpi"] = "mpi-hostfile"
	}
	for _, m := range template.VolumeMounts {
		want[m.MountPath] = m.Name
	}
	if diff := cmp.Diff(want, mounts(got)); diff != "" {
		t.Errorf("%s: mounts: -want +got:\n%s", role, diff)
	}
}

func mounts(c corev1.Container) map[string]string {
	byPath := map[string]string{}
	for _, m := range c.VolumeMounts {
		byPath[m.MountPath] = m.Name
	}
	return byPath
}

// expectSettings checks that the container has the settings of the runtime's template, with the changes that the
// TrainJob makes. In addition, the launcher must have the environment variables that Trainer sets. The TrainJob's image
// and command apply only to the launcher. The TrainJob's environment variables and resources apply to the launcher. If
// the launcher runs as a node, these variables and resources also apply to all other nodes.
func expectSettings(t *testing.T, v version, role string, asNode bool, job *trainer.TrainJob, template, got corev1.Container) {
	t.Helper()
	want := template.DeepCopy()
	if role == "launcher" || asNode {
		want.Env = append(want.Env, job.Spec.Trainer.Env...)
		v.applyOverride(&want.Resources, job.Spec.Trainer.ResourcesPerNode)
	}
	if role == "launcher" {
		want.Image, want.Command = *job.Spec.Trainer.Image, job.Spec.Trainer.Command
		want.Env = append(want.Env,
			corev1.EnvVar{Name: "OMPI_MCA_orte_default_hostfile", Value: "/etc/mpi/hostfile"},
			corev1.EnvVar{Name: "OMPI_MCA_orte_keep_fqdn_hostnames", Value: "true"},
			corev1.EnvVar{Name: "OMPI_MCA_orte_set_default_slots", Value: fmt.Sprint(*job.Spec.Trainer.NumProcPerNode)},
			corev1.EnvVar{Name: "OMPI_MCA_plm_rsh_args", Value: "-o ConnectionAttempts=10"})
	}
	if got.Image != want.Image {
		t.Errorf("%s: image %s, want %s", role, got.Image, want.Image)
	}
	if diff := cmp.Diff(variables(*want), variables(got)); diff != "" {
		t.Errorf("%s: environment: -want +got:\n%s", role, diff)
	}
	if diff := cmp.Diff([][]string{want.Command, want.Args}, [][]string{got.Command, got.Args}); diff != "" {
		t.Errorf("%s: command and arguments: -want +got:\n%s", role, diff)
	}
	if diff := cmp.Diff(want.Resources, got.Resources); diff != "" {
		t.Errorf("%s: resources: -want +got:\n%s", role, diff)
	}
}

var reference = regexp.MustCompile(`\$\(([A-Za-z_][A-Za-z0-9_]*)\)`)

// expectReferences checks that each environment variable of a container refers only to variables that are set
// before it, because the kubelet does not expand references to later variables.
func expectReferences(t *testing.T, role string, c corev1.Container) {
	t.Helper()
	set := map[string]bool{}
	for _, v := range c.Env {
		for _, m := range reference.FindAllStringSubmatch(v.Value, -1) {
			if !set[m[1]] {
				t.Errorf("%s: %s refers to %s, which is not set before it", role, v.Name, m[1])
			}
		}
		set[v.Name] = true
	}
}

func variables(c corev1.Container) map[string]corev1.EnvVar {
	byName := map[string]corev1.EnvVar{}
	for _, v := range c.Env {
		byName[v.Name] = v
	}
	return byName
}

func podTemplate(t *testing.T, runtime *trainer.ClusterTrainingRuntime, role string) corev1.PodTemplateSpec {
	t.Helper()
	for _, r := range runtime.Spec.Template.Spec.ReplicatedJobs {
		if r.Name == role {
			return r.Template.Spec.Template
		}
	}
	t.Fatalf("runtime %s has no ReplicatedJob %s", runtime.Name, role)
	return corev1.PodTemplateSpec{}
}

func mpiContainer(t *testing.T, role string, pod corev1.PodSpec) corev1.Container {
	t.Helper()
	for _, c := range pod.Containers {
		if c.Name == "node" {
			return c
		}
	}
	t.Fatalf("%s: no container node", role)
	return corev1.Container{}
}
