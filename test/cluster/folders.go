//go:build linux

package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// sharedFolders are those that a kubelet or a container runtime makes outside its own,
// whatever it is told. Others may have things in them.
var sharedFolders = []string{
	"/var/log/containers", "/var/log/pods", "/var/lib/kubelet", "/var/lib/containerd", "/var/lib/cni",
	"/run/containerd", "/run/netns", "/etc/cni", "/etc/kubernetes", "/usr/libexec/kubernetes", "/opt/containerd",
}

// absentFolders are the shared folders that do not exist.
func absentFolders() []string {
	var absent []string
	for _, folder := range sharedFolders {
		if _, err := os.Lstat(folder); errors.Is(err, fs.ErrNotExist) {
			absent = append(absent, folder)
		}
	}
	return absent
}

// removeLinks removes the links that the kubelet makes to the logs of containers.
func removeLinks(dir string) error {
	links, err := filepath.Glob("/var/log/containers/*")
	if err != nil {
		return err
	}
	var errs []error
	for _, link := range links {
		target, err := os.Readlink(link)
		if err == nil && strings.HasPrefix(target, dir+"/") {
			errs = append(errs, os.Remove(link))
		}
	}
	return errors.Join(errs...)
}

// removeNetworkResults removes what the library that connects pods remembers of ours. It has
// one folder for all container runtimes of the machine.
func removeNetworkResults(dir string) error {
	pods, err := filepath.Glob(filepath.Join(dir, "node*/containerd/root/io.containerd.grpc.v1.cri/sandboxes/*"))
	if err != nil {
		return err
	}
	var errs []error
	for _, pod := range pods {
		results, err := filepath.Glob("/var/lib/cni/results/*-" + filepath.Base(pod) + "-*")
		errs = append(errs, err)
		for _, result := range results {
			errs = append(errs, os.Remove(result))
		}
	}
	return errors.Join(errs...)
}

// removeEmpty removes a folder, and those in it, unless somebody's file is there.
func removeEmpty(folder string) error {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch path := filepath.Join(folder, e.Name()); {
		case e.IsDir():
			err = errors.Join(err, removeEmpty(path))
		case e.Type()&fs.ModeSocket != 0:
			// Nobody listens: those who did have ended, and a living one would have had its folder before.
			err = errors.Join(err, os.Remove(path))
		default:
			return fmt.Errorf("%s did not exist before, and now has %s in it: remove it if nobody needs it", folder, path)
		}
	}
	if err != nil {
		return err
	}
	return os.Remove(folder)
}
