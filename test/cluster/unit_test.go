//go:build linux

package cluster

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/trainyard/trainyard/test/poll"
)

func TestParseLevel(t *testing.T) {
	if level, err := ParseLevel("control-plane"); level != ControlPlane || err != nil {
		t.Errorf(`ParseLevel("control-plane") = %q, %v, want it to succeed`, level, err)
	}
	if _, err := ParseLevel("pod"); err == nil || !strings.Contains(err.Error(), "control-plane, pods, scale") {
		t.Errorf(`ParseLevel("pod") = %v, want an error that lists the levels`, err)
	}
}

func TestInvalidOptionsAreRejected(t *testing.T) {
	for name, tc := range map[string]struct {
		options Options
		want    string
	}{
		"nodes at a level without nodes":      {Options{Level: ControlPlane, Nodes: 1}, "has no nodes: choose level pods or scale"},
		"more nodes than Kubernetes supports": {Options{Level: Scale, Nodes: 5001}, "from 1 to 5000"},
		"a negative number of nodes":          {Options{Nodes: -1}, "from 1 to 9"},
		"more nodes than a digit can count":   {Options{Nodes: 10}, "from 1 to 9"},
		"a folder too long for sockets":       {Options{Dir: "/" + strings.Repeat("x", 70)}, "at most 60 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := tc.options.setDefaults(); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("complete() = %v, want an error with %q", err, tc.want)
			}
		})
	}
}

func TestNodesShareNoResources(t *testing.T) {
	seen := map[string]string{}
	for _, n := range (state{Level: Pods, Nodes: maxNodes}).listNodes("/cluster") {
		first, last := n.podRange()
		common, own := n.vethPair()
		for _, resource := range []string{
			n.name, n.dir, n.socketPath(), n.cgroup(), n.loopback(), n.nodeAddress(), n.bridgeName(), n.kubelet(), n.containerd(), first, last, common, own,
		} {
			if other, taken := seen[resource]; taken {
				t.Errorf("%s and %s both have %s", other, n.name, resource)
			}
			seen[resource] = n.name
		}
	}
}

func TestMissingCapabilitiesAreReported(t *testing.T) {
	for name, tc := range map[string]struct {
		status string
		want   string
	}{
		"all of them":         {"Name:\tx\nCapEff:\t000001ffffffffff\nCapBnd:\t0\n", ""},
		"without the network": {"CapEff:\t000001ffffffefff\n", "this user lacks the capability CAP_NET_ADMIN, which is needed to run pods"},
		"none at all": {"CapEff:\t0000000000000000\n", "this user lacks the capability CAP_MKNOD, which is needed to run pods\n" +
			"this user lacks the capability CAP_NET_ADMIN, which is needed to run pods\nthis user lacks the capability CAP_SYS_ADMIN, which is needed to run pods"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := missingCapabilities(tc.status); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("missingCapabilities(): -want +got:\n%s", diff)
			}
		})
	}
}

func TestControlGroupsAreCreatedFromTheTop(t *testing.T) {
	if diff := cmp.Diff([]string{"/a", "/a/b"}, withParents("/a/b")); diff != "" {
		t.Errorf("withParents(): -want +got:\n%s", diff)
	}
	root := hierarchy{path: t.TempDir()}
	for file, text := range map[string]string{"cpuset.cpus": "0-3", "cpuset.mems": "0"} {
		if err := os.WriteFile(filepath.Join(root.path, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // in the second iteration, all groups already exist
		for _, group := range withParents("/a/b") {
			if err := root.create(group); err != nil {
				t.Fatal(err)
			}
		}
	}
	cpus, err := os.ReadFile(filepath.Join(root.path, "a/b/cpuset.cpus"))
	if err != nil || string(cpus) != "0-3" {
		t.Errorf("the lowest group has CPUs %q, %v, want the CPUs of the root group", cpus, err)
	}
}

func TestFoldersWithFilesAreNotRemoved(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "shared")
	if err := os.MkdirAll(filepath.Join(folder, "empty", "empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := removeEmpty(folder); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("removeEmpty() = %v, want an error with %s", err, file)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := removeEmpty(folder); err != nil {
		t.Errorf("removing empty folders: %v", err)
	}
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the empty folder still exists: %v", err)
	}
}

func TestClusterWithOtherOptionsIsNotChanged(t *testing.T) {
	o := Options{Dir: t.TempDir(), Level: ControlPlane, Trainer: "trainer-2.3"}
	if _, err := claim(o); err != nil {
		t.Fatal(err)
	}
	if _, err := claim(o); err != nil {
		t.Errorf("claiming again: %v", err)
	}
	for name, other := range map[string]Options{
		"another level":           {Dir: o.Dir, Level: Pods, Trainer: o.Trainer},
		"another Trainer":         {Dir: o.Dir, Level: o.Level, Trainer: "trainer-2.1"},
		"another number of nodes": {Dir: o.Dir, Level: o.Level, Trainer: o.Trainer, Nodes: 2},
		"Kueue in addition":       {Dir: o.Dir, Level: o.Level, Trainer: o.Trainer, Kueue: true},
	} {
		if _, err := claim(other); err == nil || !strings.Contains(err.Error(), "take that cluster down first") {
			t.Errorf("claim() with %s = %v, want an error", name, err)
		}
	}
}

func TestLockIsExclusive(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cluster")
	first, err := lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock(dir); err == nil {
		t.Error("lock() of a locked cluster succeeded")
	}
	_ = first.Close()
	again, err := lock(dir)
	if err != nil {
		t.Fatalf("locking again after unlocking: %v", err)
	}
	_ = again.Close()
}

func TestCertificatesAreValidForTheirAddresses(t *testing.T) {
	ca, err := newAuthority(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := ca.writeCertificate("server", pkix.Name{CommonName: "server"}, "198.18.0.1", "kubernetes"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(ca.writtenPath("server.crt"))
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca.cert)
	for _, name := range []string{"198.18.0.1", "kubernetes"} {
		if _, err := cert.Verify(x509.VerifyOptions{Roots: roots, DNSName: name}); err != nil {
			t.Errorf("the certificate is not valid for %s: %v", name, err)
		}
	}
	if _, err := cert.Verify(x509.VerifyOptions{Roots: roots, DNSName: "elsewhere"}); err == nil {
		t.Error("the certificate is valid for a name it was not issued for")
	}
}

func TestKueueVersionFollowsTrainer(t *testing.T) {
	if _, err := matchingKueue("trainer-2.3"); err != nil {
		t.Error(err)
	}
	if _, err := matchingKueue("trainer-2.0"); err == nil || !strings.Contains(err.Error(), "trainer-2.0") {
		t.Errorf(`matchingKueue("trainer-2.0") = %v, want an error`, err)
	}
}

func TestNodeCountOfExistingClusterIsKept(t *testing.T) {
	o := Options{Dir: t.TempDir(), Level: ControlPlane}
	text := `{"level": "pods", "nodes": 2, "trainer": ""}`
	if err := os.WriteFile(statePath(o.Dir), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	o.Level = Pods
	if found, err := claim(o); err != nil || found.Nodes != 2 {
		t.Errorf("claim() = %d nodes, %v, want the 2 nodes of the existing cluster", found.Nodes, err)
	}
}

func TestDownStopsAddedServers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cluster")
	for _, folder := range []string{"records", "logs"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(statePath(dir), []byte(`{"level": "control-plane"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	added := AddedServer(dir, "git")
	if err := added.Start(exec.Command("sleep", "600")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = added.Kill() })
	pid := added.PID()
	servers, err := Status(dir)
	if err != nil || len(servers) == 0 || servers[len(servers)-1].PID != pid {
		t.Errorf("Status() = %v, %v, want the added server with process %d at the end", servers, err, pid)
	}
	if err := Down(t.Context(), dir, io.Discard); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, 10*time.Second, func(context.Context) error {
		err := unix.Kill(pid, 0)
		if err == nil {
			err = errors.New("it receives signals")
		}
		if !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("process %d still exists after Down: %w", pid, err)
		}
		return nil
	})
}

func TestFreeHostSkipsUsedAddresses(t *testing.T) {
	first, err := freeHost("/a")
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(loopbackAddress(first, 1), "2379"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	if second, err := freeHost("/a"); err != nil || second == first {
		t.Errorf("freeHost() = %d, %v, want a number other than %d, which is in use", second, err, first)
	}
}
