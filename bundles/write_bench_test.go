package bundles

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"
)

// BenchmarkReplace writes 3,000 files of 4 KB to a folder in TMPDIR. On ext4, creating files is many times slower
// if other files were deleted shortly before. Therefore the benchmark cases that delete files come last.
func BenchmarkReplace(b *testing.B) {
	parent, folders := b.TempDir(), 0
	another := func() string { folders++; return filepath.Join(parent, fmt.Sprint(folders)) }
	for _, bc := range []struct {
		name  string
		every int  // with the value n, each write changes every n-th file; with 0, no file
		fresh bool // whether each write creates a new folder
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

const synthetic = 3000

// syntheticTree returns a tree of 3,000 files of 4 KB. Each file contains one letter, repeated. If the value of the
// argument "every" is n, each n-th file contains the value of the argument "letter". All other files contain the letter
// a. If "every" is 0, all files contain the letter a.
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
