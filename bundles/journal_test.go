package bundles

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// lay puts files and links ("-> TO") below a folder; a name that ends in "/" is a folder.
func lay(t *testing.T, dir string, files map[string]string) {
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

const staged = stagedPrefix + "x/"

// TestRepair lays out what a run can leave when it is killed, step by step, and
// what others may have there.
func TestRepair(t *testing.T) {
	ours := markFor("dir")
	cases := map[string]struct {
		before, after, looked map[string]string // looked is after a Writer has only looked; nil means unchanged
	}{
		"killed before there was a mark": {
			before: map[string]string{"dir/a": "old", staged: ""},
			after:  map[string]string{"dir/a": "old"},
		},
		"killed while the mark was made": {
			before: map[string]string{"dir/a": "old", staged + markName: ""},
			after:  map[string]string{"dir/a": "old"},
		},
		"killed while staging": {
			before: map[string]string{"dir/a": "old", staged + markName: ours, staged + "new/a": "half"},
			after:  map[string]string{"dir/a": "old"},
		},
		"killed while staging the first folder": {
			before: map[string]string{staged + markName: ours, staged + "new/a": "half"},
			after:  map[string]string{},
		},
		"killed between the two steps": {
			before: map[string]string{staged + markName: ours, staged + "new/a": "new", staged + "old/a": "old"},
			after:  map[string]string{"dir/a": "old"},
			looked: map[string]string{"dir/a": "old", staged + markName: ours, staged + "new/a": "new"},
		},
		"killed after the second step": {
			before: map[string]string{"dir/a": "new", staged + markName: ours, staged + "old/a": "old"},
			after:  map[string]string{"dir/a": "new"},
		},
		"killed after an exchange": {
			before: map[string]string{"dir/a": "new", staged + markName: ours, staged + "new/a": "old"},
			after:  map[string]string{"dir/a": "new"},
		},
		"killed while removing, and the folder was removed since": {
			before: map[string]string{staged + markName: ours, staged + "gone/b": "half"},
			after:  map[string]string{},
		},
		"several runs were killed": {
			before: map[string]string{"dir/a": "old", staged + markName: ours, stagedPrefix + "y/" + markName: ours, stagedPrefix + "z/": ""},
			after:  map[string]string{"dir/a": "old"},
		},
		"a folder with links": {
			before: map[string]string{"dir/a": "old", "away/b": "theirs", staged + markName: ours, staged + "new/link": "-> ../../away"},
			after:  map[string]string{"dir/a": "old", "away/b": "theirs"},
		},
		"a run for another folder":    {before: map[string]string{"dir/a": "old", staged + markName: markFor("other"), staged + "old/a": "theirs"}},
		"a folder without a mark":     {before: map[string]string{"dir/a": "old", staged + "new/a": "theirs"}},
		"a folder with an empty mark": {before: map[string]string{"dir/a": "old", staged + markName: "", staged + "new/a": "theirs"}},
		"a folder with a mark of its own": {
			before: map[string]string{"dir/a": "old", staged + markName: "*\n"},
		},
		"a file of that name":          {before: map[string]string{"dir/a": "old", stagedPrefix + "x": "theirs"}},
		"a link of that name":          {before: map[string]string{"dir/a": "old", "away/" + markName: ours, stagedPrefix + "x": "-> away"}},
		"a link instead of the folder": {before: map[string]string{"away/a": "theirs", "dir": "-> away"}},
	}
	for name, tc := range cases {
		for _, look := range []bool{true, false} {
			kind, want := " and a run follows", tc.after
			if look {
				kind, want = " and a look follows", tc.looked
			}
			if want == nil {
				want = tc.before
			}
			t.Run(name+kind, func(t *testing.T) {
				base := t.TempDir()
				lay(t, base, tc.before)
				w := &Writer{ReadOnly: look, Tell: func(note string) { t.Error(note) }}
				defer w.Close()
				_, err := w.Plan(t.Context(), tree(t, nil), filepath.Join(base, "dir"))
				if _, link := tc.before["dir"]; (err != nil) != link {
					t.Errorf("Plan(): %v", err)
				}
				there := map[string]string{}
				for path, text := range want {
					if !strings.HasSuffix(path, "/") {
						there[path] = text
					}
				}
				holds(t, base, there)
			})
		}
	}
}

// TestLeftoverThatStays: what cannot be removed is said, and stops nobody.
func TestLeftoverThatStays(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may remove everything; test/crash does this as another user")
	}
	dir := bundle(t, first)
	lay(t, filepath.Dir(dir), map[string]string{staged + markName: markFor("bundle"), staged + "new/": ""})
	if err := os.Chmod(filepath.Join(filepath.Dir(dir), staged), 0o500); err != nil {
		t.Fatal(err)
	}
	var notes []string
	err := write(t, &Writer{Tell: func(note string) { notes = append(notes, note) }}, dir, second)
	if err != nil || len(notes) != 1 || !strings.Contains(notes[0], "cannot remove") {
		t.Errorf("writing = %v, notes %q", err, notes)
	}
	holds(t, dir, whole(t, second))
}

// TestReadOnlyFoldersGo: a folder in the bundle that somebody made read-only is
// no reason to leave the old bundle lying about.
func TestReadOnlyFoldersGo(t *testing.T) {
	dir := bundle(t, first)
	if err := os.Chmod(filepath.Join(dir, "sub"), 0o500); err != nil {
		t.Fatal(err)
	}
	if err := write(t, &Writer{Tell: func(note string) { t.Error(note) }}, dir, second); err != nil {
		t.Fatal(err)
	}
	alone(t, dir)
}

// TestGitSeesNoLeftover: the mark keeps what a killed run left out of `git add .`.
func TestGitSeesNoLeftover(t *testing.T) {
	lines := strings.Split(markFor("a\nb"), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], "# ") || lines[1] != "*" {
		t.Errorf("the mark is %q, want a comment and a pattern for all files", lines)
	}
}

// TestCannotBePutBack: where the work of others lies is said, and no later run
// takes it for a leftover.
func TestCannotBePutBack(t *testing.T) {
	dir, times := bundle(t, first), 0
	p := swapping(t, &Writer{}, dir, func(string) error {
		if times++; times == 2 {
			return syscall.EIO
		}
		edit("a")(t, dir)
		return nil
	})
	_, err := p.Write(t.Context())
	if err == nil || !strings.Contains(err.Error(), "a was changed by somebody else") || strings.Contains(err.Error(), "nothing was changed") {
		t.Fatalf("Write() = %v", err)
	}
	_, after, _ := strings.Cut(err.Error(), "could not be put back from ")
	where, _, _ := strings.Cut(after, ": ")
	p.writer.Close()
	for range 2 {
		if text := snapshot(t, where)["a"]; text != "by hand\n" {
			t.Errorf("%s/a holds %q, want the edit", where, text)
		}
		if err := write(t, &Writer{Force: true}, dir, first); err != nil {
			t.Fatal(err)
		}
	}
}
