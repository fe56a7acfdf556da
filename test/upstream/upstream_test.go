//go:build linux

package upstream

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMountedFolderIsVisibleToOneProgramOnly(t *testing.T) {
	const target = "/etc/trainyard-test/certs"
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "tls.crt"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := withFolder(folder, target, "/bin/cat", target+"/tls.crt").CombinedOutput()
	if err != nil || string(out) != "text" {
		t.Errorf("the program reads %q, %v, want the text of the file", out, err)
	}
	if _, err := os.Stat("/etc/trainyard-test"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the mounted folder is visible outside the program: %v", err)
	}
}

func TestStagesAreAdaptedToMPI(t *testing.T) {
	const complete = "metadata: {name: pod-complete}\n"
	for name, tc := range map[string]struct {
		stages  string
		want    []string // substrings of the result
		wantErr string
	}{
		"a stage that completes pods": {
			"metadata: {name: other}\n---\n" + complete + "spec: {selector: {matchExpressions: [{key: a, operator: Exists}]}}\n",
			[]string{"name: other", "key: a", `trainyard.dev/role`, SimulatedDuration}, "",
		},
		"no stage that completes pods":     {"metadata: {name: other}\n", nil, "no stage completes pods"},
		"a stage without matchExpressions": {complete + "spec: {}\n", nil, "has no spec.selector.matchExpressions"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := adaptStages([]byte(tc.stages))
			if failed := err != nil; failed != (tc.wantErr != "") || failed && !strings.Contains(err.Error(), tc.wantErr) {
				t.Errorf("adaptStages() = %v, want an error with %q", err, tc.wantErr)
			}
			for _, text := range tc.want {
				if !strings.Contains(string(got), text) {
					t.Errorf("adaptStages() = %s, want it to contain %q", got, text)
				}
			}
		})
	}
}
