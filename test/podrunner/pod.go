//go:build linux

package podrunner

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// Pod holds the state that a pod's containers share, such as volumes and the hosts file.
type Pod struct {
	// Replace lists files that are mounted in all containers of the pod. Each key is the path in the containers at
	// which a file is mounted. Each value is the path of this file on the machine.
	Replace map[string]string

	t        testing.TB
	hostname string
	dir      string
	hosts    string
	volumes  map[string]string
}

// NewPod creates a pod that exists until the test ends. A volume must be an emptyDir or a hostPath. In tests, a
// hostPath volume takes the place of a Secret or ConfigMap, and is therefore read-only.
func NewPod(t testing.TB, hostname string, volumes []corev1.Volume) *Pod {
	t.Helper()
	pod := &Pod{t: t, hostname: hostname, dir: t.TempDir(), volumes: map[string]string{}}
	pod.hosts = filepath.Join(pod.dir, "hosts")
	pod.AddHost("127.0.0.1", "localhost")
	for _, volume := range volumes {
		switch {
		case volume.EmptyDir != nil:
			pod.volumes[volume.Name] = pod.createFolder("volume-" + volume.Name)
		case volume.HostPath != nil:
			pod.volumes[volume.Name] = volume.HostPath.Path
		default:
			t.Fatalf("creating pod %s: volume %q is neither an emptyDir nor a hostPath", hostname, volume.Name)
		}
	}
	return pod
}

// AddHost adds a host name to the pod's hosts file. Running containers see the new name too.
func (p *Pod) AddHost(address, name string) {
	p.t.Helper()
	hosts, err := os.OpenFile(p.hosts, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = fmt.Fprintf(hosts, "%s %s\n", address, name)
	}
	if err == nil {
		err = hosts.Close()
	}
	if err != nil {
		p.t.Fatalf("adding host %s to pod %s: %v", name, p.hostname, err)
	}
}

// Volume returns the path of a folder on the machine. The folder contains the files of the named volume.
func (p *Pod) Volume(name string) string {
	return p.volumes[name]
}

// createFolder creates a folder for the pod on the machine. Every user can write to the folder.
func (p *Pod) createFolder(name string) string {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	err := os.Mkdir(path, 0o777)
	if err == nil {
		err = os.Chmod(path, 0o777) // In contrast to Mkdir, Chmod ignores the umask.
	}
	if err != nil {
		p.t.Fatalf("creating a folder for pod %s: %v", p.hostname, err)
	}
	return path
}

// HostVolume returns a volume that mounts a folder of the machine.
func HostVolume(name, path string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: path}}}
}

// Container returns a copy of the container with the given name.
func Container(t testing.TB, containers []corev1.Container, name string) corev1.Container {
	t.Helper()
	i := slices.IndexFunc(containers, func(c corev1.Container) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("the runtime has no container %q", name)
	}
	return *containers[i].DeepCopy()
}
