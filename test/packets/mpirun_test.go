//go:build linux

package packets

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/test/jail"
)

// What Trainer tells Open MPI.
var trainerEnv = []corev1.EnvVar{
	{Name: "OMPI_MCA_orte_default_hostfile", Value: "/etc/mpi/hostfile"},
	{Name: "OMPI_MCA_orte_keep_fqdn_hostnames", Value: "true"},
	{Name: "OMPI_MCA_orte_set_default_slots", Value: "1"},
	{Name: "OMPI_MCA_plm_rsh_args", Value: "-o ConnectionAttempts=10"},
}

// runMPI runs the pods of a document's runtime on two hosts: preflight, sshd and mpirun of this machine.
func runMPI(t *testing.T, document string, launcher, node *host) {
	secret, hosts := t.TempDir(), t.TempDir()
	for name, content := range jail.SSHKeys(t) {
		write(t, filepath.Join(secret, name), content)
	}
	write(t, filepath.Join(hosts, "hostfile"), "a-launcher-0-0.a slots=1\na-node-0-0.a slots=1\n")
	specs := podSpecs(t, document)
	launcher.set(t, specs["launcher"])
	node.set(t, specs["node"])
	pods := map[string]*jail.Pod{}
	for role, spec := range specs {
		pods[role] = jail.NewPod(t, "a-"+role+"-0-0", append(spec.Volumes, folder("mpi-ssh-auth", secret), folder("mpi-hostfile", hosts)))
		pods[role].AddHost(launcher.address, "a-launcher-0-0.a")
		pods[role].AddHost(node.address, "a-node-0-0.a")
	}
	node.fallSilent() // for sshd
	identity := container(t, specs["node"].InitContainers, "identity")
	node.in(t, func() {
		pods["node"].Run(identity)
		pods["node"].Start(mainOf(t, specs["node"]))
	})
	awaitFile(t, filepath.Join(pods["node"].Volume("mpi-run"), "sshd.pid"))
	launcher.in(t, func() {
		pods["launcher"].Run(identity)
		if got := pods["launcher"].Run(container(t, specs["launcher"].InitContainers, "preflight")); got.Code != 0 {
			t.Fatalf("preflight ended with %d: %s\n%s", got.Code, got.Message, got.Log)
		}
		launch := mainOf(t, specs["launcher"])
		launch.Env = append(launch.Env, trainerEnv...)
		result := pods["launcher"].Run(launch)
		got := strings.Fields(result.Log)
		slices.Sort(got)
		if diff := cmp.Diff([]string{"a-launcher-0-0", "a-node-0-0"}, got); diff != "" || result.Code != 0 {
			t.Errorf("mpirun hostname ended with %d: -want +got:\n%s", result.Code, diff)
		}
	})
}

// set does what a kubelet does with the sysctls of a pod.
func (n *network) set(t *testing.T, spec *corev1.PodSpec) {
	t.Helper()
	n.in(t, func() {
		for _, sysctl := range spec.SecurityContext.Sysctls {
			write(t, filepath.Join("/proc/sys", strings.ReplaceAll(sysctl.Name, ".", "/")), sysctl.Value)
		}
	})
}

// podSpecs are those of the document's runtime, by role.
func podSpecs(t *testing.T, document string) map[string]*corev1.PodSpec {
	t.Helper()
	made := new(trainer.ClusterTrainingRuntime)
	fields := objects(t, document)[trainer.ClusterTrainingRuntimeKind][0].(*unstructured.Unstructured).Object
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, made); err != nil {
		t.Fatal(err)
	}
	specs := map[string]*corev1.PodSpec{}
	for _, job := range made.Spec.Template.Spec.ReplicatedJobs {
		specs[job.Name] = &job.Template.Spec.Template.Spec
	}
	return specs
}

// mainOf is the container "node", with what Trainer mounts in it.
func mainOf(t *testing.T, spec *corev1.PodSpec) corev1.Container {
	t.Helper()
	made := container(t, spec.Containers, "node")
	made.VolumeMounts = append(made.VolumeMounts,
		corev1.VolumeMount{Name: "mpi-ssh-auth", MountPath: "/home/mpiuser/.ssh"}, corev1.VolumeMount{Name: "mpi-hostfile", MountPath: "/etc/mpi"})
	return made
}

func container(t *testing.T, all []corev1.Container, name string) corev1.Container {
	t.Helper()
	i := slices.IndexFunc(all, func(c corev1.Container) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("the runtime has no container %s", name)
	}
	return *all[i].DeepCopy()
}

func folder(name, path string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: path}}}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatalf("writing a file: %v", err)
	}
}

// awaitFile waits until a container has written a file.
func awaitFile(t *testing.T, path string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if text, err := os.ReadFile(path); err == nil && len(text) > 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("nothing was written to %s", path)
		}
	}
}
