package bundles

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"
)

// BenchmarkReplace makes a folder hold 3,000 files of 4 KB. TMPDIR says on which
// disk. What was written is deleted at the end, and those cases come last that delete
// files: while deletions are recent, ext4 takes many times as long to make files.
func BenchmarkReplace(b *testing.B) {
	parent, folders := b.TempDir(), 0
	another := func() string { folders++; return filepath.Join(parent, fmt.Sprint(folders)) }
	for _, bc := range []struct {
		name  string
		every int  // each such file differs from one write to the next
		fresh bool // whether each write makes a folder of its own
	}{
		{"new folder", 1, true},
		{"nothing changed", 0, false},
		{"one changed", synthetic, false},
		{"all changed", 1, false},
	} {
		b.Run(bc.name, func(b *testing.B) {
			trees := [2]Tree{syntheticTree(b, 'a', 0), syntheticTree(b, 'b', bc.every)}
			dir := another()
			if _, err := trees[1].WriteDir(dir, false); err != nil {
				b.Fatal(err)
			}
			for i := 0; b.Loop(); i++ {
				if bc.fresh {
					dir = another()
				}
				if _, err := trees[i%2].WriteDir(dir, false); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// synthetic is the number of files.
const synthetic = 3000

// syntheticTree fills files with the letter a, but the first of every so many with
// another one; 0 is none.
func syntheticTree(b *testing.B, letter byte, every int) Tree {
	b.Helper()
	var files []File
	for n := range synthetic {
		content := byte('a')
		if every > 0 && n%every == 0 {
			content = letter
		}
		files = append(files, File{Path: fmt.Sprintf("namespaces/team-%02d/%04d.yaml", n%30, n), Content: Text(bytes.Repeat([]byte{content}, 4096))})
	}
	made, err := NewTree(files...)
	if err != nil {
		b.Fatal(err)
	}
	return made
}
