package fetch

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/trainyard/trainyard/api/message"
)

// entry describes one entry of a folder in a commit.
type entry struct {
	name string
	mode fs.FileMode
	hash plumbing.Hash
}

// modes maps the modes of entries in Git's folders to Go's file modes. Only old versions of Git
// wrote the mode 100664.
var modes = map[string]fs.FileMode{
	"40000":  fs.ModeDir | 0o555,
	"100644": 0o444,
	"100664": 0o444,
	"100755": 0o555,
	"120000": fs.ModeSymlink | 0o444,
	"160000": fs.ModeIrregular, // a submodule: a commit of another repository
}

// parseTree parses a folder, and returns its entries sorted by name. Like git fsck, parseTree returns an error if a name
// is not plain (see isPlainName), if two entries have the same name, or if the entries are not in Git's order.
func parseTree(data []byte) ([]entry, error) {
	var entries []entry
	previous := ""
	for len(data) > 0 {
		head, rest, found := bytes.Cut(data, []byte{0})
		mode, name, hasMode := strings.Cut(string(head), " ")
		if !found || !hasMode || len(rest) < len(plumbing.Hash{}) {
			return nil, errors.New("a folder of the commit is malformed")
		}
		known, exists := modes[mode]
		switch {
		case !exists:
			return nil, fmt.Errorf("the entry %s of a folder has the unknown mode %s", message.Quote(name), message.Quote(mode))
		case !isPlainName(name):
			return nil, fmt.Errorf("%s is not allowed as the name of a file or folder", message.Quote(name))
		}
		// Git sorts folders as if their names ended in a slash.
		key := name
		if known.IsDir() {
			key += "/"
		}
		if key <= previous {
			return nil, fmt.Errorf("a folder of the commit is malformed: the entry %s is not in order", message.Quote(name))
		}
		previous = key
		entries = append(entries, entry{name, known, plumbing.Hash(rest[:20])})
		data = rest[20:]
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.name, b.name) })
	for i := range entries[min(1, len(entries)):] {
		if entries[i].name == entries[i+1].name {
			return nil, fmt.Errorf("a folder of the commit has two entries with the name %s", message.Quote(entries[i].name))
		}
	}
	return entries, nil
}

// isPlainName returns false for an empty name, a path, and a name that has a special meaning for Git or a file
// system.
func isPlainName(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.EqualFold(name, ".git") && !strings.ContainsAny(name, "/\\")
}

// tree holds the folders and files of a commit.
type tree struct {
	root    plumbing.Hash
	folders map[plumbing.Hash][]entry
	files   map[plumbing.Hash][]byte
}

// newTree collects the folders and files of a commit from the objects of a pack. If a folder or file is missing, newTree
// returns an error. Each folder is parsed once, even if the commit contains it at many paths.
func newTree(all objects, root plumbing.Hash) (*tree, error) {
	t := &tree{root, map[plumbing.Hash][]entry{}, map[plumbing.Hash][]byte{}}
	for open := []plumbing.Hash{root}; len(open) > 0; {
		hash := open[len(open)-1]
		open = open[:len(open)-1]
		if _, done := t.folders[hash]; done {
			continue
		}
		data, err := all.get(hash, plumbing.TreeObject)
		if err != nil {
			return nil, err
		}
		entries, err := parseTree(data)
		if err != nil {
			return nil, err
		}
		t.folders[hash] = entries
		for _, e := range entries {
			switch {
			case e.mode.IsDir():
				open = append(open, e.hash)
			case e.mode.Type() != fs.ModeIrregular:
				if t.files[e.hash], err = all.get(e.hash, plumbing.BlobObject); err != nil {
					return nil, err
				}
			}
		}
	}
	return t, nil
}
