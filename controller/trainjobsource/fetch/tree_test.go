package fetch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/trainyard/trainyard/controller/trainjobsource/decode"
	"github.com/trainyard/trainyard/test/gitserver"
)

func fetchFiles(t *testing.T, url string) fs.FS {
	t.Helper()
	got, err := newFetcher(t, Limits{}, url).Fetch(t.Context(), Request{URL: url})
	check(t, err)
	return got.Files
}

// TestA1Links commits symbolic links of several kinds. The file system of the commit must not follow these links, and
// decode.Read must refuse them.
func TestA1Links(t *testing.T) {
	s := gitserver.New(t)
	r, _ := newRepository(t, s)
	links := map[string]string{
		"absolute.yaml": "/etc/passwd", "chain.yaml": "relative.yaml", "folder.yaml": "train", "itself.yaml": "itself.yaml",
		"relative.yaml": "README.md", "upward.yaml": "../../../../etc/passwd",
	}
	for link, target := range links {
		check(t, os.Symlink(target, filepath.Join(r.Folder(), link)))
	}
	commitFiles(t, r, nil)
	files := fetchFiles(t, s.HTTP(r.Name))
	for link := range links {
		info, err := fs.Stat(files, link)
		if err != nil || info.Mode().Type() != fs.ModeSymlink {
			t.Errorf("Stat(%s) = %v, error %v", link, info, err)
		}
		for _, path := range []string{link, link + "/bert.yaml"} {
			if text, err := fs.ReadFile(files, path); err == nil {
				t.Errorf("ReadFile(%s) = %q", path, text)
			}
			if _, err := files.Open(path); err == nil {
				t.Errorf("Open(%s) works", path)
			}
			if list, err := fs.ReadDir(files, path); err == nil {
				t.Errorf("ReadDir(%s) = %v", path, list)
			}
		}
	}
	want := `"absolute.yaml" is a link or a special file: only regular files and folders are allowed`
	if _, err := decode.Read(files, ".", "team-a", decode.DefaultLimits); err == nil || err.Error() != want {
		t.Errorf("decode.Read() = %v, want %s", err, want)
	}
}

// TestA4Submodules: if a commit contains a submodule, the fetch must succeed, and must not need the
// submodule's repository.
func TestA4Submodules(t *testing.T) {
	s := gitserver.New(t)
	r, hash := newRepository(t, s)
	_, err := r.Git("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("ab", 20)+",module")
	check(t, err)
	_, err = r.Git("commit", "-q", "-m", "add a submodule")
	check(t, err)
	files := fetchFiles(t, s.HTTP(r.Name))
	info, err := fs.Stat(files, "module")
	if err != nil || info.Mode().Type() != fs.ModeIrregular {
		t.Errorf("Stat() = %v, error %v", info, err)
	}
	if _, err := fs.ReadFile(files, "module"); !errors.Is(err, errNotRegular) {
		t.Errorf("ReadFile() = %v", err)
	}
	if _, err := decode.Read(files, ".", "team-a", decode.DefaultLimits); err == nil || !strings.Contains(err.Error(), `"module" is a link or a special file`) {
		t.Errorf("decode.Read() = %v, first commit %s", err, hash)
	}
}

// TestA2Paths checks that no path leads out of the commit.
func TestA2Paths(t *testing.T) {
	s := gitserver.New(t)
	r, _ := newRepository(t, s)
	files := fetchFiles(t, s.HTTP(r.Name))
	for _, path := range []string{
		"..", "../jobs.git/config", "train/../../jobs.git/config", "/etc/passwd", "train/../README.md", "./README.md", "README.md/", "",
		"train//bert.yaml", "train/.", `train\bert.yaml`, "README.md/bert.yaml", "Train/bert.yaml", "train/bert.yaml\x00", "none",
	} {
		if text, err := fs.ReadFile(files, path); err == nil {
			t.Errorf("ReadFile(%q) = %q", path, text)
		}
		if _, err := fs.Stat(files, path); err == nil {
			t.Errorf("Stat(%q) works", path)
		}
	}
	check(t, fstest.TestFS(files, "README.md", "train/bert.yaml"))
}

// TestA27Trees checks that a fetch refuses folders that different Git programs would read in different ways.
func TestA27Trees(t *testing.T) {
	file := plumbing.ComputeHash(plumbing.BlobObject, nil)
	folder := plumbing.ComputeHash(plumbing.TreeObject, nil)
	at := func(mode, name string) string { return treeEntry(mode, name, file) }
	for label, tc := range map[string]struct{ tree, want string }{
		"nothing":                  {"", ""},
		"a file":                   {at("100644", "a.yaml"), ""},
		"a file with an old mode":  {at("100664", "a.yaml"), ""},
		"an executable file":       {at("100755", "a.yaml"), ""},
		"a folder after its file":  {at("100644", "a.yaml") + treeEntry("40000", "a", folder), ""},
		"upper and lower case":     {at("100644", "Job.yaml") + at("100644", "job.yaml"), ""},
		"a line break":             {at("100644", "a\n.yaml"), ""},
		"no name":                  {at("100644", ""), `"" is not allowed as the name of a file or folder`},
		"this folder":              {at("100644", "."), `"." is not allowed as the name of a file or folder`},
		"the folder above":         {at("40000", ".."), `".." is not allowed as the name of a file or folder`},
		"a path":                   {at("100644", "a/b.yaml"), `"a/b.yaml" is not allowed as the name of a file or folder`},
		"an absolute path":         {at("100644", "/etc/passwd"), `"/etc/passwd" is not allowed as the name of a file or folder`},
		"a path of Windows":        {at("100644", `a\b.yaml`), `"a\\b.yaml" is not allowed as the name of a file or folder`},
		"A4, the folder of Git":    {at("40000", ".git"), `".git" is not allowed as the name of a file or folder`},
		"A4, the same, upper case": {at("40000", ".GIT"), `".GIT" is not allowed as the name of a file or folder`},
		"an unknown mode":          {at("100777", "a.yaml"), `the entry "a.yaml" of a folder has the unknown mode "100777"`},
		"a mode with zeros":        {at("040000", "a"), `the entry "a" of a folder has the unknown mode "040000"`},
		"no mode":                  {treeEntry("", "a", file)[1:], "a folder of the commit is malformed"},
		"half a hash":              {at("100644", "a")[:20], "a folder of the commit is malformed"},
		"a wrong order":            {at("100644", "b") + at("100644", "a"), `a folder of the commit is malformed: the entry "a" is not in order`},
		"one name twice":           {at("100644", "a") + at("100644", "a"), `a folder of the commit is malformed: the entry "a" is not in order`},
		"a file and a folder":      {at("100644", "a") + at("100644", "a.b") + treeEntry("40000", "a", folder), `a folder of the commit has two entries with the name "a"`},
	} {
		t.Run(label, func(t *testing.T) {
			p := pack{}
			p.add(plumbing.BlobObject, "")
			p.add(plumbing.TreeObject, "")
			head := p.addCommit(p.add(plumbing.TreeObject, tc.tree))
			url := liar{head: head, pack: p.bytes()}.start(t)
			got, err := newFetcher(t, small, url).Fetch(t.Context(), Request{URL: url})
			switch {
			case tc.want == "" && err != nil:
				t.Error(err)
			case tc.want == "":
				if len(readAll(t, got.Files)) != strings.Count(tc.tree, "100") {
					t.Errorf("got %v", readAll(t, got.Files))
				}
			case err == nil || err.Error() != "fetching "+url+": "+tc.want:
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

// TestA27Paths: access to a path that is too deep or too long must return the error errTooDeep. A walk through all
// files must return this error too.
func TestA27Paths(t *testing.T) {
	p := pack{}
	hash := p.add(plumbing.BlobObject, "a: 1\n")
	mode, name := "100644", "a.yaml"
	for range 90 {
		hash, mode, name = p.add(plumbing.TreeObject, treeEntry(mode, name, hash)), "40000", "a"
	}
	root := p.add(plumbing.TreeObject, treeEntry("100644", "b.yaml", p.add(plumbing.BlobObject, "b: 1\n"))+treeEntry("40000", "deep", hash))
	url := liar{head: p.addCommit(root), pack: p.bytes()}.start(t)
	files := fetchFiles(t, url)
	if _, err := fs.ReadFile(files, "b.yaml"); err != nil {
		t.Error(err)
	}
	for _, read := range []func() error{
		func() error {
			return fs.WalkDir(files, ".", func(_ string, _ fs.DirEntry, err error) error { return err })
		},
		func() error { _, err := fs.Stat(files, "deep/"+strings.Repeat("a/", 89)+"a.yaml"); return err },
		func() error { _, err := fs.Stat(files, strings.Repeat("a", 4096)); return err },
		func() error { _, err := decode.Read(files, ".", "team-a", decode.DefaultLimits); return err },
	} {
		if err := read(); !errors.Is(err, errTooDeep) {
			t.Errorf("got %v, want %v", err, errTooDeep)
		}
	}
	if _, err := decode.Read(files, "deep/a/a/a", "team-a", decode.DefaultLimits); !errors.Is(err, errTooDeep) {
		t.Errorf("got %v, want %v", err, errTooDeep)
	}
}

// TestA27ManyFiles checks that a folder with very many files exceeds a limit. All files have the same content, so the
// pack contains only one object for all files.
func TestA27ManyFiles(t *testing.T) {
	p := pack{}
	file := p.add(plumbing.BlobObject, "")
	var entries strings.Builder
	for i := range 10_000 {
		entries.WriteString(treeEntry("100644", fmt.Sprintf("%04d", i), file))
	}
	head := p.addCommit(p.add(plumbing.TreeObject, entries.String()))
	wantError(t, liar{head: head, pack: p.bytes()}, "a file or folder of the commit is larger than 256 KiB")
}
