//go:build linux

package preflight

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/test/jail"
)

func TestScriptsPassShellcheck(t *testing.T) {
	t.Parallel()
	need(t, "shellcheck")
	checked := 0
	for role, spec := range podSpecs(t) {
		for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
			if len(c.Command) < 3 || c.Command[0] != "sh" || c.Command[1] != "-c" {
				continue
			}
			checked++
			shellcheck := exec.CommandContext(t.Context(), "shellcheck", "-s", "sh", "-")
			shellcheck.Stdin = strings.NewReader(c.Command[2])
			if output, err := shellcheck.CombinedOutput(); err != nil {
				t.Errorf("container %s of the %s: %v\n%s", c.Name, role, err, output)
			}
		}
	}
	if checked != 4 {
		t.Errorf("checked %d scripts, want identity twice, preflight and serve", checked)
	}
}

func TestIdentityNamesTheUser(t *testing.T) {
	t.Parallel()
	ours := fmt.Sprintf("mpi:x:%d:%d:MPI:/home/mpiuser:/bin/sh\n", jail.UID, jail.GID)
	root := "root:x:0:0:root:/root:/bin/sh\n"
	cases := map[string]struct{ passwd, want string }{
		"an image that does not know the user":    {passwd: root, want: root + ours},
		"an image that calls the user otherwise":  {passwd: root + fmt.Sprintf("me:x:%d:0::/:/bin/bash\n", jail.UID), want: root + ours},
		"an image with another user of that name": {passwd: "mpi:x:7:7::/:/bin/false\n" + root, want: root + ours},
		"an image whose user has a longer number": {passwd: fmt.Sprintf("me:x:%d0:0::/:\n", jail.UID), want: fmt.Sprintf("me:x:%d0:0::/:\n", jail.UID) + ours},
		"an image without a last line end":        {passwd: strings.TrimSpace(root), want: root + ours},
		"an image with nobody":                    {passwd: "", want: ours},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJob(t, 0, platform{})
			image := filepath.Join(t.TempDir(), "passwd")
			write(t, image, tc.passwd)
			j.launcher.pod.Replace = map[string]string{"/etc/passwd": image}
			j.identify("launcher", j.launcher)
			passwd, err := os.ReadFile(filepath.Join(j.launcher.pod.Volume("mpi-run"), "passwd"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(passwd)); diff != "" {
				t.Errorf("passwd: -want +got:\n%s", diff)
			}
		})
	}
}

func TestANodeFindsSSHD(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		replace map[string]string
		want    string
	}{
		"in a folder that is not in the image's PATH": {want: "Server listening on "},
		"or says what to install":                     {replace: map[string]string{"/usr/sbin/sshd": "/dev/null"}, want: "no sshd in this image: install openssh-server\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJob(t, 1, platform{replace: tc.replace})
			node := j.nodes[0]
			j.identify("node", node)
			main := j.main("node")
			main.Args = []string{"-o", "ListenAddress=" + node.address}
			setEnv(&main, "PATH", "/usr/bin:/bin")
			node.sshd = node.pod.Start(main)
			eventually(t, node.sshd, func() bool { return strings.HasPrefix(node.sshd.Log(), tc.want) })
		})
	}
}
