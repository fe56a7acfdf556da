package bundles

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// createFiles creates files and folders. The argument "files" maps each name to the text of the file. A name that
// ends in "/" stands for a folder. The text "-> TO" stands for a symbolic link to TO.
func createFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if to, ok := strings.CutPrefix(text, "-> "); ok {
			symlink(t, to, path)
		} else if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

const (
	staged  = stagedPrefix + "dir-abcdefghij/"
	staged2 = stagedPrefix + "dir-klmnopqrst/"
)

// TestRecover checks that a run recovers from every state that a killed run can leave. A run must keep files and
// folders that no run created, even if their names resemble the name of a staging folder.
func TestRecover(t *testing.T) {
	cases := map[string]struct {
		// If the field ReadOnly of a Writer is true, a run of this Writer writes no bundle. Such a run is called a
		// comparison. The field "compared" contains the files that must exist after a comparison. If the field
		// "compared" is nil, a comparison must not change any file.
		before, after, compared map[string]string
		note                    string
	}{
		"killed before .gitignore was written": {
			before: map[string]string{"dir/a": "old", staged: ""},
			after:  map[string]string{"dir/a": "old"},
		},
		"killed while .gitignore was written": {
			before: map[string]string{"dir/a": "old", staged + ".gitignore": ""},
			after:  map[string]string{"dir/a": "old"},
		},
		"killed while staging": {
			before: map[string]string{"dir/a": "old", staged + ".gitignore": "*\n", staged + "new/a": "half"},
			after:  map[string]string{"dir/a": "old"},
		},
		"killed while staging the first folder": {
			before: map[string]string{staged + ".gitignore": "*\n", staged + "new/a": "half"},
			after:  map[string]string{},
		},
		"killed between the two renames": {
			before:   map[string]string{staged + ".gitignore": "*\n", staged + "new/a": "new", staged + "old/a": "old"},
			after:    map[string]string{"dir/a": "old"},
			compared: map[string]string{"dir/a": "old", staged + ".gitignore": "*\n", staged + "new/a": "new"},
		},
		"killed after the second rename": {
			before: map[string]string{"dir/a": "new", staged + ".gitignore": "*\n", staged + "old/a": "old"},
			after:  map[string]string{"dir/a": "new"},
		},
		"killed after an exchange": {
			before: map[string]string{"dir/a": "new", staged + ".gitignore": "*\n", staged + "new/a": "old"},
			after:  map[string]string{"dir/a": "new"},
		},
		"killed while removing, and the folder was removed since": {
			before: map[string]string{staged + ".gitignore": "*\n", staged + "old/b": "half"},
			after:  map[string]string{},
		},
		"several runs were killed": {
			before: map[string]string{"dir/a": "old", staged + ".gitignore": "*\n", staged2: ""},
			after:  map[string]string{"dir/a": "old"},
		},
		"a staging folder with links": {
			before: map[string]string{"dir/a": "old", "away/b": "other", staged + "new/link": "-> ../../away"},
			after:  map[string]string{"dir/a": "old", "away/b": "other"},
		},
		"a staging folder for dir-x":    {before: map[string]string{"dir/a": "old", stagedPrefix + "dir-x-abcdefghij/old/a": "other"}},
		"a staging folder for di":       {before: map[string]string{"dir/a": "old", stagedPrefix + "di-abcdefghij/old/a": "other"}},
		"another name after the prefix": {before: map[string]string{"dir/a": "old", stagedPrefix + "dir/new/a": "other"}},
		"a file in a staging folder": {
			before: map[string]string{"dir/a": "old", staged + "new/a": "half", staged + "a": "other"},
			after:  map[string]string{"dir/a": "old", staged + "a": "other"},
			note:   "abcdefghij, left by an interrupted run: directory not empty",
		},
		"a file of that name":          {before: map[string]string{"dir/a": "old", strings.TrimSuffix(staged, "/"): "other"}},
		"a link of that name":          {before: map[string]string{"dir/a": "old", "away/new/a": "other", strings.TrimSuffix(staged, "/"): "-> away"}},
		"a link instead of the folder": {before: map[string]string{"away/a": "other", "dir": "-> away"}},
	}
	for name, tc := range cases {
		for _, readOnly := range []bool{true, false} {
			kind, want := ", then a write", tc.after
			if readOnly {
				kind, want = ", then a comparison", tc.compared
			}
			if want == nil {
				want = tc.before
			}
			t.Run(name+kind, func(t *testing.T) {
				base := t.TempDir()
				createFiles(t, base, tc.before)
				w := &Writer{ReadOnly: readOnly, Note: func(note string) {
					if tc.note == "" || !strings.Contains(note, tc.note) {
						t.Errorf("note %q, want %q", note, tc.note)
					}
				}}
				defer w.Close()
				_, err := w.Plan(t.Context(), tree(t, nil), filepath.Join(base, "dir"))
				if _, link := tc.before["dir"]; (err != nil) != link {
					t.Errorf("Plan(): %v", err)
				}
				files := map[string]string{}
				for path, text := range want {
					if !strings.HasSuffix(path, "/") {
						files[path] = text
					}
				}
				checkFiles(t, base, files)
			})
		}
	}
}

func TestReadOnlyFoldersAreRemoved(t *testing.T) {
	dir := writeBundle(t, first)
	if err := os.Chmod(filepath.Join(dir, "sub"), 0o500); err != nil {
		t.Fatal(err)
	}
	if err := write(t, &Writer{Note: func(note string) { t.Error(note) }}, dir, second); err != nil {
		t.Fatal(err)
	}
	noSiblings(t, dir)
}

// TestRollbackFails: another program changes the folder during the run, and the rollback of the run fails. The staging
// folder then contains the change of the other program, so no later run may remove the staging folder.
func TestRollbackFails(t *testing.T) {
	dir, times := writeBundle(t, first), 0
	p := newSwapPlan(t, &Writer{}, dir, func(string) error {
		if times++; times == 2 {
			return syscall.EIO
		}
		edit("a")(t, dir)
		return nil
	})
	_, err := p.Write(t.Context())
	if err == nil || !strings.Contains(err.Error(), "a was changed by another program") || strings.Contains(err.Error(), "nothing was changed") {
		t.Fatalf("Write() = %v", err)
	}
	_, saved, _ := strings.Cut(err.Error(), "input/output error: move the previous folder back from ")
	p.writer.Close()
	for range 2 {
		if text := takeSnapshot(t, saved)["a"]; text != "by hand\n" {
			t.Errorf("%s/a holds %q, want the edit", saved, text)
		}
		if err := write(t, &Writer{Force: true}, dir, first); err != nil {
			t.Fatal(err)
		}
	}
}
