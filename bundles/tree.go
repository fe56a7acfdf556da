package bundles

import (
	"bytes"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/generator/object"
)

// ManifestName is the name of the file that lists the generated files of a bundle. Argo CD does not read the
// manifest, because the name has none of the extensions that Argo CD reads, such as .yaml.
const ManifestName = ".trainyard-manifest"

// File is one file of a bundle.
type File struct {
	Path    string // relative to the bundle, with slashes
	Content Content
}

// Tree contains the files of a bundle, ordered by path.
type Tree struct {
	files   []hashedFile
	entries []Entry
}

type hashedFile struct {
	File
	digest digest
}

func hashed(f File) hashedFile { return hashedFile{f, f.Content.digest()} }

// NewTree sorts the files by path. NewTree fails if two paths are equal, or if a path leads out of the bundle.
func NewTree(files ...File) (Tree, error) {
	var t Tree
	for _, f := range files {
		if !fs.ValidPath(f.Path) || f.Path == "." || f.Path == ManifestName {
			return Tree{}, fmt.Errorf("bundle cannot hold a file called %q", f.Path)
		}
		t.files = append(t.files, hashed(f))
	}
	slices.SortFunc(t.files, func(a, b hashedFile) int { return strings.Compare(a.Path, b.Path) })
	for i := 1; i < len(t.files); i++ {
		if t.files[i-1].Path == t.files[i].Path {
			return Tree{}, fmt.Errorf("bundle has two files called %q", t.files[i].Path)
		}
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

// Len returns the number of files.
func (t Tree) Len() int { return len(t.files) }

// listPaths returns the paths of all files, including the manifest.
func (t Tree) listPaths() map[string]bool {
	paths := map[string]bool{ManifestName: true}
	for _, f := range t.files {
		paths[f.Path] = true
	}
	return paths
}

// WithInventory returns a copy of the tree. The manifest of the copy also contains an inventory of
// the objects.
func (t Tree) WithInventory(set object.Set) Tree {
	t.entries = Inventory(set)
	return t
}

// buildManifest returns the text of the manifest. The manifest begins with comments, which contain the inventory. After
// the comments, the manifest lists the digest and the path of each file, in the format of sha256sum -c.
func (t Tree) buildManifest() []byte {
	var b bytes.Buffer
	for _, e := range t.entries {
		b.WriteString(e.formatEntry())
	}
	for _, f := range t.files {
		fmt.Fprintf(&b, "%x  %s\n", f.digest, f.Path)
	}
	return b.Bytes()
}
