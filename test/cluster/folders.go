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

// sharedFolders lists folders outside the folder of the cluster. A kubelet or a container runtime can create these
// folders, even if its settings name other folders. Programs that do not belong to the cluster can also have files in
// the shared folders.
var sharedFolders = []string{
	"/var/log/containers", "/var/log/pods", "/var/lib/kubelet", "/var/lib/containerd", "/var/lib/cni",
	"/run/containerd", "/run/netns", "/etc/cni", "/etc/kubernetes", "/usr/libexec/kubernetes", "/opt/containerd",
}

// absentFolders lists the shared folders that do not exist.
func absentFolders() []string {
	var absent []string
	for _, folder := range sharedFolders {
		if _, err := os.Lstat(folder); errors.Is(err, fs.ErrNotExist) {
			absent = append(absent, folder)
		}
	}
	return absent
}

// removeLinks removes the links in /var/log/containers that lead to logs of this cluster's containers. The kubelet has
// created these links.
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

// removeNetworkResults removes the results that CNI plugins cached for this cluster's pods. Results for other pods stay
// in /var/lib/cni/results, because the CNI plugins of all container runtimes on a machine use this folder.
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

// removeEmpty removes a folder and its subfolders. removeEmpty also removes sockets, but fails if it finds any other
// file.
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
			// The folder did not exist before the cluster was created. Therefore the socket belongs to a server of the
			// cluster. The server has already stopped, so the socket can be removed.
			err = errors.Join(err, os.Remove(path))
		default:
			return fmt.Errorf("folder %s was created with the cluster and now contains %s: if nobody needs this file, remove the file and run `sandbox down` again", folder, path)
		}
	}
	if err != nil {
		return err
	}
	return os.Remove(folder)
}
