//go:build linux

package podrunner

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// plan describes a container. The method Start writes the plan to a file and starts a new process of this
// program. The new process reads the file and becomes the container.
type plan struct {
	Root     string // the folder where the container's root is mounted
	Hostname string
	Links    map[string]string // symbolic links of the root
	Files    map[string]string // files of the root
	Folders  []string          // folders of the root
	Mounts   []mount           // all mounts, in the order in which they are mounted
	ReadOnly bool              // whether the root is read-only
	Dir      string
	Command  []string
	Env      []string
}

// mount is a bind mount of a file or folder of the machine into a container.
type mount struct {
	From, To string
	ReadOnly bool
}

// machinePaths lists files and folders that containers take from the machine that runs the tests, and not from an
// image. A path that is missing on the machine is also missing in the containers.
var machinePaths = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/sys",
	"/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d",
}

var devices = []string{"/dev/full", "/dev/null", "/dev/random", "/dev/tty", "/dev/urandom", "/dev/zero"}

// imageFiles maps the paths of files to their contents. In a cluster, the image of a container would contain these
// files, and also the programs that the container runs.
var imageFiles = map[string]string{
	"/etc/group":         "root:x:0:\nmpiuser:x:1000:\n",
	"/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
	"/etc/passwd": "root:x:0:0:root:/root:/bin/sh\n" +
		"sshd:x:100:65534::/run/sshd:/usr/sbin/nologin\n" +
		"mpiuser:x:1000:1000::/home/mpiuser:/bin/bash\n" +
		"nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
	"/etc/ssh/ssh_config": "# Part of the image.\n",
	"/home/mpiuser/notes": "# Part of the image.\n",
}

// newPlan returns the plan of a container. The argument "dir" is the path of a folder on the machine. This folder
// contains the mount point of the container's root, and the file with the container's termination message.
func (p *Pod) newPlan(container corev1.Container, dir string) plan {
	p.t.Helper()
	env := containerEnvironment(p.hostname, container.Env)
	result := plan{
		Root:     filepath.Join(dir, "root"),
		Hostname: p.hostname,
		Files:    imageFiles,
		Folders:  []string{"/dev/shm", "/proc", "/run", "/tmp"},
		Links: map[string]string{
			"/dev/fd": "/proc/self/fd", "/dev/stdin": "/proc/self/fd/0",
			"/dev/stdout": "/proc/self/fd/1", "/dev/stderr": "/proc/self/fd/2",
		},
		ReadOnly: container.SecurityContext != nil && ptr.Deref(container.SecurityContext.ReadOnlyRootFilesystem, false),
		Dir:      cmp.Or(container.WorkingDir, "/"),
		Command:  expandAll(slices.Concat(container.Command, container.Args), env),
		Env:      formatVariables(env),
	}
	result.addMachine()
	result.addMounts(p, container)
	result.Mounts = append(result.Mounts, mount{From: filepath.Join(dir, "message"), To: cmp.Or(container.TerminationMessagePath, corev1.TerminationMessagePathDefault)})
	return result
}

// addMachine adds the paths in machinePaths and the devices of the machine to the plan.
func (p *plan) addMachine() {
	links := maps.Clone(p.Links)
	for _, path := range machinePaths {
		if target, err := os.Readlink(path); err == nil {
			links[path] = target
		} else if _, err := os.Stat(path); err == nil {
			p.Mounts = append(p.Mounts, mount{From: path, To: path, ReadOnly: true})
		}
	}
	p.Links = links
	for _, device := range devices {
		p.Mounts = append(p.Mounts, mount{From: device, To: device})
	}
}

// addMounts adds mounts for the pod's hosts file, for the files in the field Pod.Replace, and for the container's
// volumes.
func (p *plan) addMounts(pod *Pod, container corev1.Container) {
	pod.t.Helper()
	p.Mounts = append(p.Mounts, mount{From: pod.hosts, To: "/etc/hosts"})
	for _, path := range slices.Sorted(maps.Keys(pod.Replace)) {
		p.Mounts = append(p.Mounts, mount{From: pod.Replace[path], To: path, ReadOnly: true})
	}
	for _, m := range container.VolumeMounts {
		volume, ok := pod.volumes[m.Name]
		if !ok {
			pod.t.Fatalf("starting container %s: pod %s has no volume %q", container.Name, pod.hostname, m.Name)
		}
		secret := filepath.Dir(volume) != pod.dir
		p.Mounts = append(p.Mounts, mount{From: filepath.Join(volume, m.SubPath), To: m.MountPath, ReadOnly: m.ReadOnly || secret})
	}
}
