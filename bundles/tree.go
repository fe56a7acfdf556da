package bundles

import (
	"bytes"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/generator/object"
)

// ManifestName is the file that says which other files are ours. It has no
// extension, so that Argo CD does not take it for a manifest.
const ManifestName = ".trainyard-manifest"

// File is one file of a bundle.
type File struct {
	Path    string // relative to the bundle, with slashes
	Content Content
}

// Tree is a bundle's files, ordered by path.
type Tree struct {
	files   []written
	entries []Entry
}

// written is a file as it will be written.
type written struct {
	File
	digest digest
}

func digested(f File) written { return written{f, f.Content.digest()} }

// NewTree orders files. It fails if two share a path, or if one would lie
// outside the bundle.
func NewTree(files ...File) (Tree, error) {
	sorted := slices.Clone(files)
	slices.SortFunc(sorted, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	for i, f := range sorted {
		if !fs.ValidPath(f.Path) || f.Path == "." || f.Path == ManifestName {
			return Tree{}, fmt.Errorf("bundle cannot hold a file called %q", f.Path)
		}
		if i > 0 && sorted[i-1].Path == f.Path {
			return Tree{}, fmt.Errorf("bundle has two files called %q", f.Path)
		}
	}
	t := Tree{files: make([]written, len(sorted))}
	for i, f := range sorted {
		t.files[i] = digested(f)
	}
	return t, nil
}

// Files returns the files, ordered by path.
func (t Tree) Files() []File {
	files := make([]File, len(t.files))
	for i, f := range t.files {
		files[i] = f.File
	}
	return files
}

// Len counts the files.
func (t Tree) Len() int { return len(t.files) }

// Holding returns the tree with what the manifest is to say of its objects.
func (t Tree) Holding(set object.Set) Tree {
	t.entries = Inventory(set)
	return t
}

// manifest lists the files with their digests, as sha256sum -c reads them, after
// comments that say which objects they hold.
func (t Tree) manifest() []byte {
	var b bytes.Buffer
	for _, e := range t.entries {
		b.WriteString(e.line())
	}
	for _, f := range t.files {
		fmt.Fprintf(&b, "%x  %s\n", f.digest, f.Path)
	}
	return b.Bytes()
}
