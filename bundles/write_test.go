package bundles

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWriteDir(t *testing.T) {
	first := map[string]string{"a.yaml": "1\n", "deep/er/b.yaml": "2\n"}
	cases := map[string]struct {
		before  func(t *testing.T, dir string) // changes the folder that contains the files of the variable "first"
		write   map[string]string
		force   bool
		changed bool
		refused []string
	}{
		"the same tree changes nothing":          {write: first},
		"another tree replaces all files":        {write: map[string]string{"c.yaml": "3\n"}, changed: true},
		"an empty tree leaves an empty bundle":   {write: map[string]string{}, changed: true},
		"an edited file is refused":              {before: edit("a.yaml"), write: first, refused: []string{"a.yaml (edited)"}},
		"an edited file is overwritten by force": {before: edit("a.yaml"), write: first, force: true, changed: true},
		"an added file is refused":               {before: edit("new/c.txt"), write: first, refused: []string{"new/ (unknown)"}},
		"an added file is refused, force or not": {before: edit("c.txt"), write: first, force: true, refused: []string{"c.txt (unknown)"}},
		"a symbolic link is refused":             {before: link("c"), write: first, force: true, refused: []string{"c (unknown)"}},
		"a lost file is written again":           {before: removeFile("a.yaml"), write: first, changed: true},
		"without a manifest all files are unknown": {
			before: removeFile(ManifestName), write: first, force: true, refused: []string{"a.yaml (unknown)", "deep/er/b.yaml (unknown)"},
		},
		"files after the limit of a manifest are unknown": {
			before: padFile(ManifestName), write: first, force: true, refused: []string{"a.yaml (unknown)", "deep/er/b.yaml (unknown)"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "parent", "bundle")
			if changed, err := tree(t, first).WriteDir(dir, false); err != nil || !changed {
				t.Fatalf("first WriteDir() = %v, %v", changed, err)
			}
			if tc.before != nil {
				tc.before(t, dir)
			}
			held := takeSnapshot(t, dir)
			changed, err := tree(t, tc.write).WriteDir(dir, tc.force)
			if changed != tc.changed {
				t.Errorf("WriteDir() changed = %v, want %v", changed, tc.changed)
			}
			var refused *RefusedError
			switch {
			case tc.refused == nil && err != nil:
				t.Fatalf("WriteDir(): %v", err)
			case tc.refused != nil && !errors.As(err, &refused):
				t.Fatalf("WriteDir() = %v, want it refused", err)
			case tc.refused != nil:
				if diff := cmp.Diff(tc.refused, refused.Files); diff != "" {
					t.Errorf("refused: -want +got:\n%s", diff)
				}
				if diff := cmp.Diff(held, takeSnapshot(t, dir)); diff != "" {
					t.Errorf("a refusal changed the folder: -before +after:\n%s", diff)
				}
			default:
				want := map[string]string{ManifestName: string(tree(t, tc.write).buildManifest())}
				for path, content := range tc.write {
					want[path] = content
				}
				if diff := cmp.Diff(want, takeSnapshot(t, dir)); diff != "" {
					t.Errorf("the folder: -want +got:\n%s", diff)
				}
			}
			noSiblings(t, dir)
		})
	}
}

func TestFailureKeepsPreviousBundle(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "bundle")
	if _, err := tree(t, map[string]string{"a": "1"}).WriteDir(dir, false); err != nil {
		t.Fatal(err)
	}
	held := takeSnapshot(t, dir)
	// The run fails while it writes the staging folder, because the tree contains the path "b" both as a file
	// and as a folder.
	broken := tree(t, map[string]string{"a": "1", "b": "2", "b/c": "3"})
	if _, err := broken.WriteDir(dir, false); err == nil {
		t.Fatal("WriteDir() of an impossible tree succeeded, want an error")
	}
	if diff := cmp.Diff(held, takeSnapshot(t, dir)); diff != "" {
		t.Errorf("-before +after:\n%s", diff)
	}
	noSiblings(t, dir)
}
