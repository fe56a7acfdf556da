//go:build linux

package jail

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// Pod is what the containers of one pod share.
type Pod struct {
	// Replace maps paths in the containers to files of the machine that appear there instead.
	Replace map[string]string

	t        testing.TB
	hostname string
	dir      string
	hosts    string
	volumes  map[string]string
}

// NewPod makes a pod that lasts as long as the test. Volumes can be emptyDirs; a hostPath
// stands for a Secret or a ConfigMap and is read-only as these are.
func NewPod(t testing.TB, hostname string, volumes []corev1.Volume) *Pod {
	t.Helper()
	pod := &Pod{t: t, hostname: hostname, dir: t.TempDir(), volumes: map[string]string{}}
	pod.hosts = filepath.Join(pod.dir, "hosts")
	pod.AddHost("127.0.0.1", "localhost")
	for _, volume := range volumes {
		switch {
		case volume.EmptyDir != nil:
			pod.volumes[volume.Name] = pod.folder("volume-" + volume.Name)
		case volume.HostPath != nil:
			pod.volumes[volume.Name] = volume.HostPath.Path
		default:
			t.Fatalf("making pod %s: volume %q is neither an emptyDir nor a hostPath", hostname, volume.Name)
		}
	}
	return pod
}

// AddHost lets the pod resolve a name, from now on.
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

// Volume is the folder that a volume of the pod is.
func (p *Pod) Volume(name string) string {
	return p.volumes[name]
}

// folder makes a folder of the pod that everybody may write to.
func (p *Pod) folder(name string) string {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	err := os.Mkdir(path, 0o777)
	if err == nil {
		err = os.Chmod(path, 0o777) // Whatever the umask is.
	}
	if err != nil {
		p.t.Fatalf("making a folder for pod %s: %v", p.hostname, err)
	}
	return path
}
