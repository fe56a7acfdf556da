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

// Plan is what would become of a folder.
type Plan struct {
	dir     string
	tree    Tree
	present folder
}

// Plan reads what a folder holds, and changes nothing.
func (t Tree) Plan(dir string) (*Plan, error) {
	dir = filepath.Clean(dir)
	present, err := readFolder(dir)
	if err != nil {
		return nil, err
	}
	return &Plan{dir: dir, tree: t, present: present}, nil
}

// Manifest is the manifest of the folder's last bundle, or empty.
func (p *Plan) Manifest() []byte { return p.present[ManifestName] }

// Differences lists what tells the folder from the tree, ordered by path.
func (p *Plan) Differences() []string {
	var found []string
	wanted := map[string]bool{ManifestName: true}
	for _, f := range p.tree.files {
		wanted[f.Path] = true
		switch content, ok := p.present[f.Path]; {
		case !ok:
			found = append(found, f.Path+" is missing")
		case content == nil:
			found = append(found, f.Path+" is not in "+ManifestName)
		case !bytes.Equal(content, f.Content):
			found = append(found, f.Path+" differs")
		}
	}
	for path := range p.present {
		if !wanted[path] {
			found = append(found, path+" is not generated")
		}
	}
	if len(found) == 0 && !bytes.Equal(p.present[ManifestName], p.tree.manifest()) {
		found = append(found, ManifestName+" differs")
	}
	slices.Sort(found)
	return found
}

// Check returns a *RefusedError if Write would lose files: those that somebody added,
// and, unless force is set, ours that somebody edited.
func (p *Plan) Check(force bool) error {
	added, edited := p.present.foreign()
	if !force {
		added = append(added, edited...)
	}
	if len(added) > 0 {
		return &RefusedError{Dir: p.dir, Files: added}
	}
	return nil
}

// Write makes the folder hold the tree and nothing else; what Check refuses is
// lost. The new content is staged beside the folder and put in its place by
// renaming, so that a failure leaves the old files whole. A folder that already
// holds the tree is not touched, and changed is false.
func (p *Plan) Write() (changed bool, err error) {
	if p.present.holds(p.tree) {
		return false, nil
	}
	staged, err := p.tree.stage(p.dir)
	if err != nil {
		return false, err
	}
	if err := replace(p.dir, staged); err != nil {
		return false, errors.Join(err, os.RemoveAll(staged))
	}
	return true, nil
}

// WriteDir plans, checks and writes in one go.
func (t Tree) WriteDir(dir string, force bool) (changed bool, err error) {
	p, err := t.Plan(dir)
	if err != nil {
		return false, err
	}
	if err := p.Check(force); err != nil {
		return false, err
	}
	return p.Write()
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
		if _, listed := ours[name]; !entry.Type().IsRegular() || !listed && name != ManifestName {
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
	text, err := os.ReadFile(filepath.Join(dir, ManifestName))
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
	ours := parseManifest(h[ManifestName])
	for path, content := range h {
		digest, listed := ours[path]
		switch {
		case path == ManifestName:
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
	if len(h) != len(t.files)+1 || !bytes.Equal(h[ManifestName], t.manifest()) {
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
	for _, f := range append(t.Files(), File{Path: ManifestName, Content: t.manifest()}) {
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
