//go:build linux

package preflight

import (
	"os"
	"path/filepath"
	"testing"
)

// folderOf makes a folder with files that only their owner may read: our user owns all files
// in the jail, and ssh accepts no key of its own user that others may read.
func folderOf(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		write(t, filepath.Join(dir, name), content)
	}
	return dir
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatalf("writing a file: %v", err)
	}
}
