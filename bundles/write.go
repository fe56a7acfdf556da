package bundles

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
)

// RefusedError is returned for a folder that holds what would be lost.
type RefusedError struct {
	Dir   string
	Files []string // what would be lost, relative to Dir, each with the reason
}

// maxNamed bounds how many files an error names.
const maxNamed = 10

// Error names the folder and the files that stand in the way.
func (r *RefusedError) Error() string {
	named, more := r.Files, ""
	if len(named) > maxNamed {
		named, more = named[:maxNamed], fmt.Sprintf(" and %d more", len(named)-maxNamed)
	}
	return fmt.Sprintf("%s holds files that would be lost: %s%s", r.Dir, strings.Join(named, ", "), more)
}

// WriteDir makes a folder hold the tree and nothing else. The new content is
// staged beside the folder and put in its place by renaming, so that a failure
// leaves the old files whole. A folder that already holds the tree is not
// touched, and changed is false.
//
// It returns a *RefusedError rather than lose files: those that somebody added, and,
// unless force is set, ours that somebody edited.
func (t Tree) WriteDir(dir string, force bool) (changed bool, err error) {
	dir = filepath.Clean(dir)
	present, err := readFolder(dir)
	if err != nil {
		return false, err
	}
	added, edited := present.foreign()
	if !force {
		added = append(added, edited...)
	}
	if len(added) > 0 {
		return false, &RefusedError{Dir: dir, Files: added}
	}
	if present.holds(t) {
		return false, nil
	}
	staged, err := t.stage(dir)
	if err != nil {
		return false, err
	}
	if err := replace(dir, staged); err != nil {
		return false, errors.Join(err, os.RemoveAll(staged))
	}
	return true, nil
}

// folder is what a directory holds: every file by relative path with slashes.
type folder map[string][]byte

// readFolder reads all files below a directory; one that does not exist holds
// none. It refuses to write through a symbolic link.
func readFolder(dir string) (folder, error) {
	switch info, err := os.Lstat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, fmt.Errorf("%s is not a directory", dir)
	}
	held := folder{}
	ours, err := readManifest(dir)
	if err != nil {
		return nil, err
	}
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		relative, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(relative)
		// Whatever is not ours will be refused, so there is no need to read it, nor all of its names.
		if _, listed := ours[name]; !entry.Type().IsRegular() || !listed && name != manifestName {
			held[name] = nil
			if len(held) > len(ours)+maxForeign {
				return fs.SkipAll
			}
			return nil
		}
		held[name], err = os.ReadFile(path)
		return err
	})
	return held, err
}

// maxForeign is how many files that are not ours are enough to refuse a folder.
const maxForeign = 100

// readManifest returns the digest of each file that the last bundle had; none if there was none.
func readManifest(dir string) (map[string]string, error) {
	text, err := os.ReadFile(filepath.Join(dir, manifestName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return parseManifest(text), nil
}

func parseManifest(text []byte) map[string]string {
	ours := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if digest, path, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  "); ok {
			ours[path] = digest
		}
	}
	return ours
}

// foreign lists files that we did not write, and ours that somebody changed since.
func (h folder) foreign() (added, edited []string) {
	ours := parseManifest(h[manifestName])
	for path, content := range h {
		digest, listed := ours[path]
		switch {
		case path == manifestName:
		case !listed:
			added = append(added, path+" (not ours)")
		case digest != fmt.Sprintf("%x", sha256.Sum256(content)):
			edited = append(edited, path+" (edited)")
		}
	}
	slices.Sort(added)
	slices.Sort(edited)
	return added, edited
}

func (h folder) holds(t Tree) bool {
	if len(h) != len(t.files)+1 || !bytes.Equal(h[manifestName], t.manifest()) {
		return false
	}
	return !slices.ContainsFunc(t.files, func(f File) bool { return !bytes.Equal(h[f.Path], f.Content) })
}

// stage writes the tree into a new folder beside dir, or leaves none.
func (t Tree) stage(dir string) (string, error) {
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", err
	}
	staged, err := os.MkdirTemp(parent, ".trainyard-staged-")
	if err != nil {
		return "", err
	}
	if err := t.fill(staged); err != nil {
		return "", errors.Join(err, os.RemoveAll(staged))
	}
	return staged, nil
}

// fill writes every file, and the manifest, into an empty folder.
func (t Tree) fill(dir string) error {
	// MkdirTemp made it for our eyes only.
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	for _, f := range append(t.Files(), File{Path: manifestName, Content: t.manifest()}) {
		path := filepath.Join(dir, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, f.Content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// replace puts staged in the place of dir, and puts dir back if it cannot.
func replace(dir, staged string) error {
	old := staged + "-old"
	if err := os.Rename(dir, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(staged, dir); err != nil {
		return errors.Join(err, os.Rename(old, dir))
	}
	return os.RemoveAll(old)
}
