//go:build linux

package preflight

import (
	"os"
	"path/filepath"
	"testing"
)

// createFolder creates a folder with the given files. Only the owner can read the files, because ssh rejects private
// keys that other users can read. Containers can read the files, because all containers run as this owner.
func createFolder(t testing.TB, files map[string]string) string {
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
