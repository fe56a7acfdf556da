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

	"github.com/trainyard/trainyard/test/podrunner"
)

func TestScriptsPassShellcheck(t *testing.T) {
	t.Parallel()
	requireProgram(t, "shellcheck")
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
		t.Errorf("checked %d scripts, want 4: identity twice, preflight and serve", checked)
	}
}

func TestIdentityAddsThePasswdEntry(t *testing.T) {
	t.Parallel()
	entry := fmt.Sprintf("mpi:x:%d:%d:MPI:/home/mpiuser:/bin/sh\n", podrunner.UID, podrunner.GID)
	root := "root:x:0:0:root:/root:/bin/sh\n"
	cases := map[string]struct{ passwd, want string }{
		"an image without the user":                         {passwd: root, want: root + entry},
		"an image with another name for the user":           {passwd: root + fmt.Sprintf("me:x:%d:0::/:/bin/bash\n", podrunner.UID), want: root + entry},
		"an image with another user of that name":           {passwd: "mpi:x:7:7::/:/bin/false\n" + root, want: root + entry},
		"an image with a user id that begins with this one": {passwd: fmt.Sprintf("me:x:%d0:0::/:\n", podrunner.UID), want: fmt.Sprintf("me:x:%d0:0::/:\n", podrunner.UID) + entry},
		"an image without a final newline":                  {passwd: strings.TrimSpace(root), want: root + entry},
		"an image without users":                            {passwd: "", want: entry},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJob(t, 0, testPlatform{})
			image := filepath.Join(t.TempDir(), "passwd")
			write(t, image, tc.passwd)
			j.launcher.pod.Replace = map[string]string{"/etc/passwd": image}
			j.runIdentity("launcher", j.launcher)
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

// TestHomeFolderIsWritable checks the home folder of a container. Programs must be able to write to this folder. The
// folder must contain the files that the image has in the home folder.
func TestHomeFolderIsWritable(t *testing.T) {
	t.Parallel()
	for name, on := range platforms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJob(t, 0, on)
			j.runIdentity("launcher", j.launcher)
			main := j.mainContainer("launcher")
			main.Command = []string{"sh", "-c", "cat ~/notes && cp ~/notes ~/copy && cat /home/mpiuser/copy"}
			result := j.launcher.pod.Run(main)
			if want := "# Part of the image.\n# Part of the image.\n"; result.Code != 0 || result.Log != want {
				t.Errorf("exit code %d, want 0; output: -want +got:\n%s", result.Code, cmp.Diff(want, result.Log))
			}
		})
	}
}

func TestNodeScriptFindsSSHD(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		replace map[string]string
		want    string
	}{
		"sshd is not in the image's PATH": {want: "Server listening on "},
		"sshd is missing":                 {replace: map[string]string{"/usr/sbin/sshd": "/dev/null"}, want: "sshd not found in this image: install openssh-server\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJob(t, 1, testPlatform{replace: tc.replace})
			node := j.nodes[0]
			j.runIdentity("node", node)
			main := j.mainContainer("node")
			main.Args = []string{"-o", "ListenAddress=" + node.address}
			setEnv(&main, "PATH", "/usr/bin:/bin")
			node.sshd = node.pod.Start(main)
			awaitCondition(t, node.sshd, func() bool { return strings.HasPrefix(node.sshd.Log(), tc.want) })
		})
	}
}
