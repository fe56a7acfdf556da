//go:build linux

package cluster

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/moby/sys/mountinfo"
)

// snapshot maps each category, such as mounts, to the items of this category that exist on the machine. The
// categories cover all traces that a cluster could leave behind on the machine.
type snapshot map[string][]string

func takeSnapshot(t *testing.T, dir string) snapshot {
	t.Helper()
	return snapshot{
		"processes":      relatedProcesses(t, dir),
		"mounts":         mounts(t),
		"addresses":      outputLines("ip", "-o", "address"),
		"routes":         outputLines("ip", "route", "show", "table", "all"),
		"firewall":       append(outputLines("iptables-save"), outputLines("nft", "list", "ruleset")...),
		"settings":       listKernelSettings(t),
		"control groups": controlGroups(t),
		"folders":        listContents("/var/lib", "/var/log", "/var/log/containers", "/var/lib/cni/results", "/run", "/run/netns", "/run/containerd", "/etc", "/opt", "/usr/libexec"),
	}
}

// relatedProcesses returns the command lines of all containerd shims. relatedProcesses also returns the command lines
// of all other processes whose command line contains the path of the cluster's folder.
func relatedProcesses(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range files {
		text, _ := os.ReadFile(file)
		command := string(bytes.ReplaceAll(text, []byte{0}, []byte{' '}))
		if strings.Contains(command, dir) || strings.Contains(command, "containerd-shim") {
			found = append(found, command)
		}
	}
	slices.Sort(found)
	return found
}

func mounts(t *testing.T) []string {
	t.Helper()
	all, err := mountinfo.GetMounts(nil)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, m := range all {
		found = append(found, m.Mountpoint)
	}
	return found
}

// outputLines returns the lines that a command prints, or no lines if the command is missing. outputLines removes
// comments and the remaining lifetimes of IP addresses, because both differ from call to call.
func outputLines(name string, args ...string) []string {
	out, _ := exec.Command(name, args...).Output()
	var lines []string
	for line := range strings.Lines(string(out)) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), " valid_lft ")
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines
}

func listKernelSettings(t *testing.T) []string {
	t.Helper()
	counters := []string{"fs/", "kernel/random/", "kernel/ns_last_pid", "kernel/pty/nr", "net/netfilter/nf_conntrack_count"}
	var found []string
	err := filepath.WalkDir(sysctls, func(path string, e fs.DirEntry, err error) error {
		name := strings.TrimPrefix(path, sysctls+"/")
		counts := slices.ContainsFunc(counters, func(c string) bool { return strings.HasPrefix(name, c) })
		if err != nil || e.IsDir() || counts {
			return nil //nolint:nilerr // some files cannot be read, and some vanish
		}
		if text, err := os.ReadFile(path); err == nil {
			found = append(found, name+" = "+strings.TrimSpace(string(text)))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func controlGroups(t *testing.T) []string {
	t.Helper()
	all, err := listHierarchies()
	if err != nil {
		t.Fatal(err)
	}
	var roots []string
	for _, h := range all {
		roots = append(roots, h.path)
	}
	return slices.DeleteFunc(listContents(roots...), func(path string) bool {
		info, err := os.Stat(path)
		return err != nil || !info.IsDir()
	})
}

func listContents(folders ...string) []string {
	var found []string
	for _, folder := range folders {
		entries, _ := os.ReadDir(folder)
		for _, e := range entries {
			found = append(found, filepath.Join(folder, e.Name()))
		}
	}
	return found
}
