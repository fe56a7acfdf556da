package bundles

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// entry is one thing that a folder holds.
type entry struct {
	info    fs.FileInfo
	foreign bool   // not ours: not in the manifest, or no longer a plain file
	edited  bool   // ours, and not as we wrote it
	file    bool   // a file that is ours
	digest  digest // of a file that is ours
}

// named is how messages name an entry.
func (e entry) named(path string) string {
	if e.info.IsDir() {
		return path + "/"
	}
	return path
}

// folder is what a directory holds, by path with slashes; "." is the directory
// itself. It is nil where there is none.
type folder map[string]entry

// read reads the plan's folder, under the name that it has now. What is not
// ours is not looked into, unless it is to be kept.
func (p *Plan) read(ctx context.Context, name string) (held folder, manifest []byte, err error) {
	if p.place.root == nil {
		return nil, nil, nil
	}
	info, err := p.place.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, nil
	case err != nil:
		return nil, nil, fmt.Errorf("reading %s: %w", p.dir, reason(err))
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, nil, fmt.Errorf("%s is a symbolic link: name the folder that it leads to", p.dir)
	case !info.IsDir():
		return nil, nil, fmt.Errorf("%s is not a directory", p.dir)
	}
	root, err := p.place.root.OpenRoot(name)
	if err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", p.dir, reason(err))
	}
	defer func() { _ = root.Close() }() // it was only read
	r := reader{root: root, deep: p.writer.KeepUnknown, held: folder{}}
	if err := r.read(ctx, p.tree); err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", p.dir, err)
	}
	return r.held, r.list, nil
}

// reader reads one folder.
type reader struct {
	root   *os.Root
	list   []byte            // the manifest
	deep   bool              // look into folders that are not ours, too
	ours   map[string]string // the digest of each file in the manifest
	known  map[string]bool   // folders that the manifest or the new tree has
	mounts map[string]bool   // paths that something is mounted at
	held   folder
}

func (r *reader) read(ctx context.Context, wanted Tree) error {
	var err error
	if r.list, err = r.manifest(); err != nil {
		return about(ManifestName, err)
	}
	r.ours, r.mounts = parseManifest(r.list), mountsIn(r.root)
	r.known = map[string]bool{".": true}
	for file := range r.ours {
		addParents(r.known, file)
	}
	for _, f := range wanted.files {
		addParents(r.known, f.Path)
	}
	return walk(ctx, r.root, ".", r.entry)
}

// entry records one entry. A symbolic link is never ours, so none is followed.
func (r *reader) entry(dir *os.Root, path string, info fs.FileInfo) (enter bool, err error) {
	e := entry{info: info}
	written, listed := r.ours[path]
	switch {
	case info.IsDir():
		e.foreign = !r.known[path]
	case info.Mode().IsRegular() && (listed || path == ManifestName):
		if e.digest, err = digestOf(dir, info.Name()); err != nil {
			return false, err
		}
		e.file, e.edited = true, listed && written != hex.EncodeToString(e.digest[:])
	default:
		e.foreign = true
	}
	r.held[path] = e
	enter = r.deep || !e.foreign
	if enter && r.mounted(path, info) {
		return false, errors.New("is a mount point, which the folder would lose: unmount it first")
	}
	return enter, nil
}

// mounted says if something is mounted at a path. Where no list of mounts can be had, a folder
// shows it by its device.
func (r *reader) mounted(path string, info fs.FileInfo) bool {
	return r.mounts[path] || info.IsDir() && !sameDevice(info, r.held["."].info)
}

// digestOf reads a file.
func digestOf(dir *os.Root, name string) (d digest, err error) {
	file, err := dir.Open(name)
	if err != nil {
		return d, err
	}
	defer func() { _ = file.Close() }() // it was only read
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return d, err
	}
	h.Sum(d[:0])
	return d, nil
}

// manifest returns the manifest's text; there is none in a folder that we did not write.
func (r *reader) manifest() ([]byte, error) {
	info, err := r.root.Lstat(ManifestName)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return readManifest(r.root.Open(ManifestName))
}

// maxManifest is how much of a manifest is read, in bytes: some hundred thousand files. Files that
// only the rest lists are as good as not listed.
const maxManifest = 16 << 20

// readManifest reads a file that has been opened.
func readManifest(file *os.File, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	return io.ReadAll(io.LimitReader(file, maxManifest))
}

func parseManifest(text []byte) map[string]string {
	ours := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if digest, path, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  "); ok && len(digest) == 2*sha256.Size { // not a comment
			ours[path] = digest
		}
	}
	return ours
}

// addParents adds the folders that lead to a file.
func addParents(folders map[string]bool, file string) {
	for dir := path.Dir(file); dir != "." && dir != "/" && !folders[dir]; dir = path.Dir(dir) {
		folders[dir] = true
	}
}

// unchanged returns an error if somebody changed the folder, which now goes by
// the given name, after it was planned for.
func (p *Plan) unchanged(ctx context.Context, name string) error {
	now, err := p.look(ctx, name)
	if err != nil {
		return fmt.Errorf("looking at it again: %w", reason(err))
	}
	for path, e := range p.present {
		if info, ok := now[path]; !ok || !same(e.info, info) {
			return changed(path)
		}
	}
	for path := range now {
		if _, ok := p.present[path]; !ok {
			return changed(path)
		}
	}
	return nil
}

func changed(path string) error {
	if path == "." {
		path = "the folder"
	}
	return fmt.Errorf("%s was changed by somebody else at the same time: run the command again", path)
}

// look is read without contents, which makes it some ten times faster.
func (p *Plan) look(ctx context.Context, name string) (map[string]fs.FileInfo, error) {
	root, err := p.place.root.OpenRoot(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // it was only read
	found := map[string]fs.FileInfo{}
	return found, walk(ctx, root, ".", func(_ *os.Root, path string, info fs.FileInfo) (bool, error) {
		found[path] = info
		return true, nil
	})
}

// visitor sees an entry of the folder dir, and says whether to enter it if it is
// a folder. The path is relative to where the walk began.
type visitor func(dir *os.Root, path string, info fs.FileInfo) (enter bool, err error)

// walk visits a folder and all that is in it, each folder before its entries.
func walk(ctx context.Context, dir *os.Root, at string, visit visitor) error {
	if at == "." {
		info, err := dir.Stat(".")
		if err != nil {
			return reason(err)
		}
		if _, err := visit(dir, at, info); err != nil {
			return reason(err)
		}
	}
	entries, err := fs.ReadDir(dir.FS(), ".")
	if err != nil {
		return about(at, err)
	}
	for _, d := range entries {
		if err := interrupted(ctx); err != nil {
			return err
		}
		if err := walkEntry(ctx, dir, path.Join(at, d.Name()), d, visit); err != nil {
			return err
		}
	}
	return nil
}

func walkEntry(ctx context.Context, dir *os.Root, at string, d fs.DirEntry, visit visitor) error {
	info, err := d.Info()
	if err != nil {
		return about(at, err)
	}
	enter, err := visit(dir, at, info)
	if err != nil || !enter || !info.IsDir() {
		return about(at, err)
	}
	sub, err := dir.OpenRoot(d.Name())
	if err != nil {
		return about(at, err)
	}
	defer func() { _ = sub.Close() }() // it was only read
	return walk(ctx, sub, at, visit)
}

// same tells whether nobody touched a file or folder. What is in a folder is
// compared by itself, which says more than the folder's time.
func same(a, b fs.FileInfo) bool {
	if !os.SameFile(a, b) || a.Mode() != b.Mode() {
		return false
	}
	return a.IsDir() || a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}
