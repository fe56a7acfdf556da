//go:build linux

package crash

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/trainyard/trainyard/bundles"
)

func skipUnlessRequested(t *testing.T) {
	t.Helper()
	if os.Getenv("TRAINYARD_CRASH") == "" {
		t.Skip("slow: set TRAINYARD_CRASH=1")
	}
}

// filesOfTree returns the files of tree number n. One third of the files is equal in all trees. Another
// third has different content in each tree, and the last third has different names in each tree.
func filesOfTree(n, count int) []bundles.File {
	var all []bundles.File
	for i := range count {
		name, letter := fmt.Sprintf("namespaces/team-%02d/runtime-%04d.yaml", i%30, i), byte('a')
		switch i % 3 {
		case 1:
			letter += byte(n)
		case 2:
			name = fmt.Sprintf("cluster/of-%d/runtime-%04d.yaml", n, i)
		}
		all = append(all, bundles.File{Path: name, Content: bundles.Text(bytes.Repeat([]byte{letter}, 4096))})
	}
	return all
}

// newTree returns the tree with the number n. After an error, newTree exits the program, because only a mistake
// in the test can cause an error.
func newTree(n, count int) bundles.Tree {
	made, err := bundles.NewTree(filesOfTree(n, count)...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	return made
}

// treeContent returns the files of the tree with the number n, and their manifest.
func treeContent(n, count int) map[string]string {
	held := map[string]string{}
	for _, f := range filesOfTree(n, count) {
		held[f.Path] = string(f.Content.Bytes())
	}
	var manifest strings.Builder
	for _, f := range newTree(n, count).Files() {
		fmt.Fprintf(&manifest, "%x  %s\n", sha256.Sum256(f.Content.Bytes()), f.Path)
	}
	held[bundles.ManifestName] = manifest.String()
	return held
}

// noFolder is the result of findTree for a folder that does not exist.
const noFolder = -1

// findTree finds out which of several trees is in a folder. Each number in the argument "trees" identifies one tree.
// findTree compares the files of each tree with the files in the folder, byte by byte. If the folder contains exactly
// the files of one tree, findTree returns the number that identifies this tree. If no tree has exactly the same files
// as the folder, findTree returns an error. If the folder does not exist, findTree returns noFolder and no error.
func findTree(dir string, count int, trees ...int) (int, error) {
	held, err := readContents(os.DirFS(dir))
	if errors.Is(err, fs.ErrNotExist) && len(held) == 0 {
		return noFolder, nil
	}
	if err != nil {
		return 0, err
	}
	var all []string
	for _, n := range trees {
		differs := findDifference(treeContent(n, count), held)
		if differs == "" {
			return n, nil
		}
		all = append(all, fmt.Sprintf("%s differs from tree %d", differs, n))
	}
	return 0, fmt.Errorf("%s holds %d files: %s", dir, len(held), strings.Join(all, ", "))
}

// findDifference returns the path of a file that differs between two folders, or an empty string if the folders
// are equal.
func findDifference(want, got map[string]string) string {
	for path, text := range want {
		if got[path] != text {
			return path
		}
	}
	for path := range got {
		if _, ok := want[path]; !ok {
			return path
		}
	}
	return ""
}

func listSiblings(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(dir))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == filepath.Base(dir) })
}

// expectTree checks that a folder contains one of the given trees, and that there are no other files or folders
// next to the folder.
func expectTree(t *testing.T, dir string, count int, trees ...int) {
	t.Helper()
	if _, err := findTree(dir, count, trees...); err != nil {
		t.Error(err)
	}
	if n, _ := findTree(dir, count, trees...); !slices.Contains(trees, n) {
		t.Errorf("the folder holds tree %d, want one of %v", n, trees)
	}
	if names := listSiblings(t, dir); len(names) > 0 {
		t.Errorf("%v lies next to the folder, want nothing", names)
	}
}
