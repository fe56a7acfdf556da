package krm

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard/test/repo"
)

// nobodyID is the id of the user that examples/images/fn.Dockerfile sets.
const nobodyID = 65534

// TestContainer runs trainyard-fn under the same conditions as in a container of examples/images/fn.Dockerfile:
// as the user "nobody", without arguments, and with a root folder that contains only this program.
func TestContainer(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can change the root folder of a program")
	}
	root, err := os.MkdirTemp("", "trainyard-fn-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	build := exec.Command("go", "build", "-o", filepath.Join(root, "trainyard-fn"), "./cmd/trainyard-fn")
	build.Dir, build.Env = repo.Path(t), append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}
	if err := os.Chmod(root, 0o555); err != nil {
		t.Fatal(err)
	}
	document := strings.ReplaceAll(strings.TrimSpace(named("generate")), "\n", "\n  ")
	for _, version := range []string{"v1", "v1beta1"} {
		var messages bytes.Buffer
		cmd := exec.Command("/trainyard-fn")
		cmd.Dir, cmd.Env, cmd.Stderr = "/", []string{"LOG_TO_STDERR=true", "STRUCTURED_RESULTS=true"}, &messages
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: nobodyID, Gid: nobodyID}}
		cmd.Stdin = strings.NewReader("apiVersion: config.kubernetes.io/" + version + "\nkind: ResourceList\nitems: []\nfunctionConfig:\n  " + document + "\n")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %s", err, messages.String())
		}
		var output struct {
			APIVersion string
			Items      []any
		}
		if err := yaml.Unmarshal(out, &output); err != nil || output.APIVersion != "config.kubernetes.io/"+version || len(output.Items) < 10 {
			t.Errorf("the output for %s is a list of %s with %d items, error %v", version, output.APIVersion, len(output.Items), err)
		}
	}
}
