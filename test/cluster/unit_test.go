//go:build linux

package cluster

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLevelsAreKnownByName(t *testing.T) {
	if level, err := ParseLevel("control-plane"); level != ControlPlane || err != nil {
		t.Errorf(`ParseLevel("control-plane") = %q, %v`, level, err)
	}
	if _, err := ParseLevel("pod"); err == nil || !strings.Contains(err.Error(), "control-plane, pods, scale") {
		t.Errorf(`ParseLevel("pod") = %v, want the names that there are`, err)
	}
}

func TestWhatCannotBeIsRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		options Options
		want    string
	}{
		"nodes without pods":                     {Options{Level: ControlPlane, Nodes: 1}, "has no nodes: choose pods or scale"},
		"more nodes than Kubernetes is made for": {Options{Level: Scale, Nodes: 5001}, "from 1 to 5000"},
		"fewer than no nodes":                    {Options{Nodes: -1}, "from 1 to 9"},
		"more nodes than have a digit":           {Options{Nodes: 10}, "from 1 to 9"},
		"a folder too long for sockets":          {Options{Dir: "/" + strings.Repeat("x", 70)}, "at most 60 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := tc.options.complete(); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("complete() = %v, want a refusal with %q", err, tc.want)
			}
		})
	}
}

// TestNodesShareNothing: two nodes on one machine must not meet by accident.
func TestNodesShareNothing(t *testing.T) {
	seen := map[string]string{}
	for _, n := range (state{Level: Pods, Nodes: maxNodes}).nodes("/cluster") {
		first, last := n.pods()
		common, own := n.cable()
		for _, thing := range []string{
			n.name, n.dir, n.socket(), n.cgroup(), n.loopback(), n.address(), n.bridge(), n.kubelet(), n.containerd(), first, last, common, own,
		} {
			if other, taken := seen[thing]; taken {
				t.Errorf("%s and %s both have %s", other, n.name, thing)
			}
			seen[thing] = n.name
		}
	}
}

func TestMissingCapabilitiesAreNamed(t *testing.T) {
	for name, tc := range map[string]struct {
		status string
		want   string
	}{
		"all of them":         {"Name:\tx\nCapEff:\t000001ffffffffff\nCapBnd:\t0\n", ""},
		"without the network": {"CapEff:\t000001ffffffefff\n", "this user lacks CAP_NET_ADMIN, which running pods needs"},
		"none at all": {"CapEff:\t0000000000000000\n", "this user lacks CAP_MKNOD, which running pods needs\n" +
			"this user lacks CAP_NET_ADMIN, which running pods needs\nthis user lacks CAP_SYS_ADMIN, which running pods needs"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := missingCapabilities(tc.status); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestGroupsAreMadeFromTheTop(t *testing.T) {
	if diff := cmp.Diff([]string{"/a", "/a/b"}, upTo("/a/b")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	root := hierarchy{path: t.TempDir()}
	for file, text := range map[string]string{"cpuset.cpus": "0-3", "cpuset.mems": "0"} {
		if err := os.WriteFile(filepath.Join(root.path, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // what is there already stays
		for _, group := range upTo("/a/b") {
			if err := root.makeGroup(group); err != nil {
				t.Fatal(err)
			}
		}
	}
	cpus, err := os.ReadFile(filepath.Join(root.path, "a/b/cpuset.cpus"))
	if err != nil || string(cpus) != "0-3" {
		t.Errorf("the lowest group has CPUs %q, %v, want those of the uppermost", cpus, err)
	}
}

func TestFoldersWithSomebodysFilesStay(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "shared")
	if err := os.MkdirAll(filepath.Join(folder, "empty", "empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := removeEmpty(folder); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("removeEmpty() = %v, want an error that names %s", err, file)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := removeEmpty(folder); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
}

func TestAClusterOfOtherOptionsIsNotTouched(t *testing.T) {
	o := Options{Dir: t.TempDir(), Level: ControlPlane, Trainer: "trainer-2.3"}
	if _, err := claim(o); err != nil {
		t.Fatal(err)
	}
	if _, err := claim(o); err != nil {
		t.Errorf("claiming again: %v", err)
	}
	for name, other := range map[string]Options{
		"another level":             {Dir: o.Dir, Level: Pods, Trainer: o.Trainer},
		"another Trainer":           {Dir: o.Dir, Level: o.Level, Trainer: "trainer-2.1"},
		"another number of nodes":   {Dir: o.Dir, Level: o.Level, Trainer: o.Trainer, Nodes: 2},
		"Kueue, which is not there": {Dir: o.Dir, Level: o.Level, Trainer: o.Trainer, Kueue: true},
	} {
		if _, err := claim(other); err == nil || !strings.Contains(err.Error(), "take that one down first") {
			t.Errorf("claim() with %s = %v, want a refusal", name, err)
		}
	}
}

func TestOneProgramAtATimeWorksOnACluster(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cluster")
	held, err := lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock(dir); err == nil {
		t.Error("a second lock was granted")
	}
	_ = held.Close()
	again, err := lock(dir)
	if err != nil {
		t.Fatalf("locking what was unlocked: %v", err)
	}
	_ = again.Close()
}

func TestCertificatesHoldForTheirAddresses(t *testing.T) {
	ca, err := newAuthority(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := ca.leaf("server", pkix.Name{CommonName: "server"}, "198.18.0.1", "kubernetes"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(ca.path("server.crt"))
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
			t.Errorf("for %s: %v", name, err)
		}
	}
	if _, err := cert.Verify(x509.VerifyOptions{Roots: roots, DNSName: "elsewhere"}); err == nil {
		t.Error("it holds for names that it was not made for")
	}
}

func TestKueueFitsTrainer(t *testing.T) {
	if _, err := kueueFor("trainer-2.3"); err != nil {
		t.Error(err)
	}
	if _, err := kueueFor("trainer-2.0"); err == nil || !strings.Contains(err.Error(), "trainer-2.0") {
		t.Errorf(`kueueFor("trainer-2.0") = %v, want a refusal`, err)
	}
}

func TestTheNumberOfNodesIsRemembered(t *testing.T) {
	o := Options{Dir: t.TempDir(), Level: ControlPlane}
	text := `{"level": "pods", "nodes": 2, "trainer": ""}`
	if err := os.WriteFile(statePath(o.Dir), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	o.Level = Pods
	if found, err := claim(o); err != nil || found.Nodes != 2 {
		t.Errorf("claim() = %d nodes, %v, want the 2 that are there", found.Nodes, err)
	}
}

func TestClustersTakeAddressesThatAreFree(t *testing.T) {
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
		t.Errorf("freeHost() = %d, %v, want another than %d, where somebody listens", second, err, first)
	}
}
