package bundles

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"
)

// BenchmarkReplace replaces 3,000 files of 4 KB, of which all or one changed.
// TMPDIR says on which disk.
func BenchmarkReplace(b *testing.B) {
	for name, every := range map[string]int{"all": 1, "one": 3000} {
		b.Run(name, func(b *testing.B) {
			var trees [2]Tree
			for i := range trees {
				var files []File
				for n := range 3000 {
					letter := byte('a')
					if n%every == 0 {
						letter += byte(i)
					}
					files = append(files, File{Path: fmt.Sprintf("namespaces/team-%02d/%04d.yaml", n%30, n), Content: bytes.Repeat([]byte{letter}, 4096)})
				}
				made, err := NewTree(files...)
				if err != nil {
					b.Fatal(err)
				}
				trees[i] = made
			}
			dir := filepath.Join(b.TempDir(), "bundle")
			if _, err := trees[1].WriteDir(dir, false); err != nil {
				b.Fatal(err)
			}
			for i := 0; b.Loop(); i++ {
				if _, err := trees[i%2].WriteDir(dir, false); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
