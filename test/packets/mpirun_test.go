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

	"github.com/trainyard/trainyard/test/podrunner"
)

// runMPI runs containers of a document's runtime on two hosts. The node runs sshd. The launcher runs preflight (the check
// that SSH reaches all hosts), and then mpirun. The containers use the programs that are installed on this machine.
func runMPI(t *testing.T, document string, launcher, node *host) {
	secret, hosts := t.TempDir(), t.TempDir()
	for name, content := range podrunner.SSHKeys(t) {
		write(t, filepath.Join(secret, name), content)
	}
	write(t, filepath.Join(hosts, "hostfile"), "a-launcher-0-0.a slots=1\na-node-0-0.a slots=1\n")
	specs := podSpecs(t, document)
	launcher.setSysctls(t, specs["launcher"])
	node.setSysctls(t, specs["node"])
	pods := map[string]*podrunner.Pod{}
	for role, spec := range specs {
		pods[role] = podrunner.NewPod(t, "a-"+role+"-0-0", append(spec.Volumes, podrunner.HostVolume("mpi-ssh-auth", secret), podrunner.HostVolume("mpi-hostfile", hosts)))
		pods[role].AddHost(launcher.address, "a-launcher-0-0.a")
		pods[role].AddHost(node.address, "a-node-0-0.a")
	}
	node.closeListeners() // the listeners would occupy the port of sshd
	identity := podrunner.Container(t, specs["node"].InitContainers, "identity")
	node.runInside(t, func() {
		pods["node"].Run(identity)
		pods["node"].Start(mainContainer(t, specs["node"]))
	})
	awaitFile(t, filepath.Join(pods["node"].Volume("mpi-run"), "sshd.pid"))
	launcher.runInside(t, func() {
		pods["launcher"].Run(identity)
		if got := pods["launcher"].Run(podrunner.Container(t, specs["launcher"].InitContainers, "preflight")); got.Code != 0 {
			t.Fatalf("preflight ended with %d: %s\n%s", got.Code, got.Message, got.Log)
		}
		launch := mainContainer(t, specs["launcher"])
		launch.Env = append(launch.Env, podrunner.OpenMPIEnv(1)...)
		result := pods["launcher"].Run(launch)
		got := strings.Fields(result.Log)
		slices.Sort(got)
		if diff := cmp.Diff([]string{"a-launcher-0-0", "a-node-0-0"}, got); diff != "" || result.Code != 0 {
			t.Errorf("mpirun hostname ended with %d: -want +got:\n%s", result.Code, diff)
		}
	})
}

// setSysctls sets the sysctls of a pod, as a kubelet does.
func (n *network) setSysctls(t *testing.T, spec *corev1.PodSpec) {
	t.Helper()
	n.runInside(t, func() {
		for _, sysctl := range spec.SecurityContext.Sysctls {
			write(t, filepath.Join("/proc/sys", strings.ReplaceAll(sysctl.Name, ".", "/")), sysctl.Value)
		}
	})
}

func podSpecs(t *testing.T, document string) map[string]*corev1.PodSpec {
	t.Helper()
	decoded := new(trainer.ClusterTrainingRuntime)
	fields := objectsByKind(t, document)[trainer.ClusterTrainingRuntimeKind][0].(*unstructured.Unstructured).Object
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, decoded); err != nil {
		t.Fatal(err)
	}
	specs := map[string]*corev1.PodSpec{}
	for _, job := range decoded.Spec.Template.Spec.ReplicatedJobs {
		specs[job.Name] = &job.Template.Spec.Template.Spec
	}
	return specs
}

// mainContainer returns the container "node", with the mounts that Trainer adds.
func mainContainer(t *testing.T, spec *corev1.PodSpec) corev1.Container {
	t.Helper()
	main := podrunner.Container(t, spec.Containers, "node")
	main.VolumeMounts = append(main.VolumeMounts,
		corev1.VolumeMount{Name: "mpi-ssh-auth", MountPath: "/home/mpiuser/.ssh"}, corev1.VolumeMount{Name: "mpi-hostfile", MountPath: "/etc/mpi"})
	return main
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatalf("writing a file: %v", err)
	}
}

func awaitFile(t *testing.T, path string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if text, err := os.ReadFile(path); err == nil && len(text) > 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("timeout: %s is empty or missing", path)
		}
	}
}
