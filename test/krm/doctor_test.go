package krm

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/test/repo"
)

// runDoctor runs trainyard doctor with a PATH that contains only the given programs.
func (w workspace) runDoctor(t *testing.T, programs map[string]string) (statuses map[string]string, code int) {
	t.Helper()
	path := t.TempDir()
	for name, target := range programs {
		if err := os.Symlink(target, filepath.Join(path, name)); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(w.trainyard, "doctor", "-o", "json")
	cmd.Env = []string{"PATH=" + path, "HOME=" + w.dir}
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	var report struct {
		Checks []struct{ Name, Status, Says string }
	}
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	statuses = map[string]string{}
	for _, c := range report.Checks {
		statuses[c.Name] = c.Status
		t.Logf("%-8s %-22s %s", c.Status, c.Name, c.Says)
	}
	return statuses, code
}

func TestDoctor(t *testing.T) {
	w := newWorkspace(t)
	w.write(t, "old", "#!/bin/sh\necho trainyard-fn v0.0.1\n")
	w.write(t, "broken", "#!/bin/sh\necho broken >&2\nexit 3\n")
	// The script "silent" acts like a kustomize that skips all functions: every build succeeds and prints nothing.
	w.write(t, "silent", "#!/bin/sh\ncase $1 in version) echo v5.9.0;; esac\n")
	for _, script := range []string{"old", "broken", "silent"} {
		if err := os.Chmod(filepath.Join(w.dir, script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	function, kustomize, kubectl := filepath.Join(w.path, "trainyard-fn"), repo.Tool(t, "kustomize"), repo.Tool(t, "kubectl")
	for name, tc := range map[string]struct {
		programs map[string]string
		want     map[string]string
		code     int
	}{
		"all programs": {
			map[string]string{"trainyard-fn": function, "kustomize": kustomize, "kubectl": kubectl},
			map[string]string{
				"trainyard-fn": "ok", "kustomize": "ok", "with both flags": "ok", "without --enable-exec": "note", "without flags": "ok",
				"kubectl kustomize": "note", "trainyard-policy": "note", "Argo CD": "note",
			},
			0,
		},
		"no programs": {
			nil, map[string]string{"trainyard-fn": "missing", "kustomize": "missing", "kubectl kustomize": "note", "trainyard-policy": "note", "Argo CD": "note"}, 7,
		},
		"a function of another version": {
			map[string]string{"trainyard-fn": filepath.Join(w.dir, "old"), "kustomize": kustomize},
			map[string]string{"trainyard-fn": "missing", "kustomize": "ok", "kubectl kustomize": "note", "trainyard-policy": "note", "Argo CD": "note"}, 7,
		},
		"a kustomize that does not work": {
			map[string]string{"trainyard-fn": function, "kustomize": filepath.Join(w.dir, "broken")},
			map[string]string{"trainyard-fn": "ok", "kustomize": "missing", "kubectl kustomize": "note", "trainyard-policy": "note", "Argo CD": "note"}, 7,
		},
		"a kustomize that skips functions": {
			map[string]string{"trainyard-fn": function, "kustomize": filepath.Join(w.dir, "silent")},
			map[string]string{
				"trainyard-fn": "ok", "kustomize": "ok", "with both flags": "missing", "without --enable-exec": "missing", "without flags": "missing",
				"kubectl kustomize": "note", "trainyard-policy": "note", "Argo CD": "note",
			},
			7,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, code := w.runDoctor(t, tc.programs)
			if diff := cmp.Diff(tc.want, got); diff != "" || code != tc.code {
				t.Errorf("exit code %d, want %d; -want +got:\n%s", code, tc.code, diff)
			}
		})
	}
}

// TestInit checks that `trainyard init` writes a folder from which `kustomize build` produces the same objects as
// `trainyard generate`. The test builds two kustomizations: the written folder, and an overlay whose base is the
// written folder. The test also checks that `kustomize build` fails without the flags that permit KRM functions.
func TestInit(t *testing.T) {
	w := newWorkspace(t)
	document := filepath.Join(w.dir, "base", "platform.yaml")
	w.run(t, w.trainyard, "init", "--kustomize", "--name", "acme", document)
	w.write(t, "overlay/kustomization.yaml", head+"resources: [../base]\n")
	want := objectsByName(t, w.run(t, w.trainyard, "generate", "-f", document, "--env", "dev"))
	for _, folder := range []string{"base", "overlay"} {
		out, err := w.runBuild(t, folder, allowed...)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, objectsByName(t, out)); diff != "" {
			t.Errorf("%s: -generate +kustomize:\n%s", folder, diff)
		}
		if out, err := w.runBuild(t, folder, noExec...); err == nil || !strings.Contains(err.Error(), "FunctionRun") {
			t.Errorf("%s without exec: kustomize returns %v and %d bytes", folder, err, len(out))
		}
		if out, err := w.runBuild(t, folder); err == nil {
			t.Errorf("%s without alpha: kustomize returns no error and %d bytes", folder, len(out))
		}
	}
}
