//go:build linux

package preflight

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainyard/trainyard/test/podrunner"
)

// job contains the hosts, pod specs and SSH keys of a simulated TrainJob named "sum".
type job struct {
	t        testing.TB
	launcher *host
	nodes    []*host
	slots    int // numProcPerNode
	pods     map[string]*corev1.PodSpec
	keys     map[string]string
}

type host struct {
	name, address string
	pod           *podrunner.Pod
	options       []string // additional options of the pod's sshd
	sshd          *podrunner.Process
}

// testPlatform describes properties that differ between images or clusters, such as the shell.
type testPlatform struct {
	shell    string            // the program to which /bin/sh links; by default, this machine's shell
	replace  map[string]string // see podrunner.Pod
	readOnly bool
}

var platforms = map[string]testPlatform{
	"sh is dash":                        {shell: "dash"},
	"sh is bash":                        {shell: "bash"},
	"the root file system is read-only": {readOnly: true},
}

var addresses atomic.Int64

func newAddress() string {
	n := addresses.Add(1)
	return fmt.Sprintf("127.1.%d.%d", n/200, n%200+1)
}

// newJob creates a job with one launcher and the given number of nodes. The pods run no containers yet.
func newJob(t testing.TB, nodes int, on testPlatform) *job {
	t.Helper()
	requireProgram(t, "ssh")
	requireProgram(t, "sshd")
	j := &job{t: t, slots: 1, pods: podSpecs(t), keys: podrunner.SSHKeys(t)}
	for _, spec := range j.pods {
		for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
			for i := range containers {
				containers[i].SecurityContext.ReadOnlyRootFilesystem = &on.readOnly
			}
		}
	}
	j.launcher = j.newHost("launcher", 0, on)
	j.launcher.address = "127.0.0.1" // in a real pod, the pod's own name resolves to a local interface
	for i := range nodes {
		j.nodes = append(j.nodes, j.newHost("node", i, on))
	}
	for _, h := range j.listHosts() {
		j.launcher.pod.AddHost(h.address, h.name)
	}
	return j
}

// newHost creates a pod with the volumes of its pod spec, and the volumes that Trainer adds.
func (j *job) newHost(role string, index int, on testPlatform) *host {
	j.t.Helper()
	hostname := fmt.Sprintf("sum-%s-0-%d", role, index)
	volumes := append(slices.Clone(j.pods[role].Volumes),
		podrunner.HostVolume("mpi-ssh-auth", createFolder(j.t, j.keys)), podrunner.HostVolume("mpi-hostfile", j.t.TempDir()))
	h := &host{name: hostname + ".sum", address: newAddress()}
	h.pod = podrunner.NewPod(j.t, hostname, volumes)
	h.pod.Replace = maps.Clone(on.replace)
	if on.shell != "" {
		h.pod.Replace = replaceShell(j.t, on.shell)
	}
	return h
}

// replaceShell returns a value for the field Replace of podrunner.Pod. With this value, /bin/sh in the pod's containers
// is the shell with the given name.
func replaceShell(t testing.TB, name string) map[string]string {
	t.Helper()
	sh, err := filepath.EvalSymlinks("/bin/sh")
	if err != nil {
		t.Fatalf("locating sh: %v", err)
	}
	return map[string]string{sh: "/bin/" + name}
}

// listHosts returns the job's hosts in the order of the hostfile.
func (j *job) listHosts() []*host {
	return append([]*host{j.launcher}, j.nodes...)
}

// mainContainer returns the container "node" of the launcher or of a node, including the mounts that Trainer adds.
func (j *job) mainContainer(role string) corev1.Container {
	j.t.Helper()
	main := podrunner.Container(j.t, j.pods[role].Containers, "node")
	main.VolumeMounts = append(main.VolumeMounts, corev1.VolumeMount{Name: "mpi-ssh-auth", MountPath: "/home/mpiuser/.ssh"})
	if role == "launcher" {
		main.VolumeMounts = append(main.VolumeMounts, corev1.VolumeMount{Name: "mpi-hostfile", MountPath: "/etc/mpi"})
	}
	return main
}

func (j *job) runIdentity(role string, hosts ...*host) {
	j.t.Helper()
	identity := podrunner.Container(j.t, j.pods[role].InitContainers, "identity")
	processes := make([]*podrunner.Process, len(hosts))
	for i, h := range hosts {
		processes[i] = h.pod.Start(identity)
	}
	for i, process := range processes {
		if result := process.Wait(); result.Code != 0 {
			j.t.Fatalf("identity of %s ended with %d:\n%s", hosts[i].name, result.Code, result.Log)
		}
	}
}

func (j *job) startNodes(nodes ...*host) {
	j.t.Helper()
	j.runIdentity("node", nodes...)
	for _, h := range nodes {
		main := j.mainContainer("node")
		for _, option := range append(h.options, "ListenAddress="+h.address) {
			main.Args = append(main.Args, "-o", option)
		}
		h.sshd = h.pod.Start(main)
	}
	for _, h := range nodes {
		j.awaitReady(h)
	}
}

// awaitReady waits until a node is ready. awaitReady checks the same condition as the node's startup probe, but more
// often.
func (j *job) awaitReady(h *host) {
	j.t.Helper()
	awaitCondition(j.t, h.sshd, func() bool {
		pid, err := os.ReadFile(filepath.Join(h.pod.Volume("mpi-run"), "sshd.pid"))
		return err == nil && len(pid) > 0
	})
}

// startTimeout is the maximum time for which awaitCondition waits. It is long, because 99 containers take a while to
// start on a machine with two cores.
const startTimeout = 2 * time.Minute

func awaitCondition(t testing.TB, process *podrunner.Process, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(startTimeout); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("timeout waiting for a container, which printed:\n%s", process.Log())
		}
	}
}

func (j *job) runPreflight(env map[string]string) *podrunner.Process {
	j.t.Helper()
	j.runIdentity("launcher", j.launcher)
	var hostfile strings.Builder
	for _, h := range j.listHosts() {
		fmt.Fprintf(&hostfile, "%s slots=%d\n", h.name, j.slots)
	}
	write(j.t, filepath.Join(j.launcher.pod.Volume("mpi-hostfile"), "hostfile"), hostfile.String())
	preflight := podrunner.Container(j.t, j.pods["launcher"].InitContainers, "preflight")
	for name, value := range env {
		setEnv(&preflight, name, value)
	}
	return j.launcher.pod.Start(preflight)
}
