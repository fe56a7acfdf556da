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

func TestAFolderIsElsewhereForOneProgramOnly(t *testing.T) {
	const place = "/etc/trainyard-test/certs"
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "tls.crt"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := withFolder(folder, place, "/bin/cat", place+"/tls.crt").CombinedOutput()
	if err != nil || string(out) != "text" {
		t.Errorf("the program sees %q, %v, want the file's text", out, err)
	}
	if _, err := os.Stat("/etc/trainyard-test"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the machine has that folder: %v", err)
	}
}

func TestStagesAreChangedOrRefused(t *testing.T) {
	const complete = "metadata: {name: pod-complete}\n"
	for name, tc := range map[string]struct {
		stages string
		want   []string // parts of what comes out
		fails  string
	}{
		"the one that completes pods": {
			"metadata: {name: other}\n---\n" + complete + "spec: {selector: {matchExpressions: [{key: a, operator: Exists}]}}\n",
			[]string{"name: other", "key: a", `trainyard.dev/role`, SimulatedDuration}, "",
		},
		"another version without it":       {"metadata: {name: other}\n", nil, "none of them completes pods"},
		"another version with another way": {complete + "spec: {}\n", nil, "without a condition"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := likeMPI([]byte(tc.stages))
			if failed := err != nil; failed != (tc.fails != "") || failed && !strings.Contains(err.Error(), tc.fails) {
				t.Errorf("likeMPI() = %v, want an error with %q", err, tc.fails)
			}
			for _, part := range tc.want {
				if !strings.Contains(string(got), part) {
					t.Errorf("likeMPI() = %s, want %q in it", got, part)
				}
			}
		})
	}
}
