package bundles

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

type entry struct {
	info      fs.FileInfo
	unknown   bool   // not in the manifest, or not a regular file
	generated bool   // a regular file in the manifest, or the manifest itself
	edited    bool   // a generated file whose digest differs from the digest in the manifest
	digest    digest // of a generated file
}

// pathLabel returns the path as it appears in messages. In messages, the path of a folder ends in a
// slash.
func (e entry) pathLabel(path string) string {
	if e.info.IsDir() {
		return path + "/"
	}
	return path
}

// read compares the present folder with its manifest. For each file and folder that the method "read" finds, the method
// adds an entry to the field "present" of the plan. If the folder does not exist, the method "read" leaves the plan
// unchanged.
func (p *Plan) read(ctx context.Context) error {
	info, err := p.parent.root.Lstat(p.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("reading %s: %w", p.dir, rootCause(err))
	case info.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("%s is a symbolic link: name the folder that it leads to", p.dir)
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory", p.dir)
	}
	root, err := p.parent.root.OpenRoot(p.name)
	if err != nil {
		return fmt.Errorf("reading %s: %w", p.dir, rootCause(err))
	}
	defer func() { _ = root.Close() }() // opened for reading only
	if err := p.readRoot(ctx, root); err != nil {
		return fmt.Errorf("reading %s: %w", p.dir, err)
	}
	return nil
}

func (p *Plan) readRoot(ctx context.Context, root *os.Root) error {
	var err error
	if p.manifest, err = readFolderManifest(root); err != nil {
		return wrapPath(ManifestName, err)
	}
	listed, folders := parseManifest(p.manifest), map[string]bool{".": true}
	for file := range listed {
		addParents(folders, file)
	}
	for file := range p.tree.listPaths() {
		addParents(folders, file)
	}
	infos, err := listTree(ctx, root, func(dir string) bool { return folders[dir] || p.writer.KeepUnknown })
	if err != nil {
		return err
	}
	listed[ManifestName] = ""
	p.present = map[string]entry{}
	for _, name := range slices.Sorted(maps.Keys(infos)) {
		e := entry{info: infos[name]}
		want, ok := listed[name]
		switch {
		case e.info.IsDir():
			e.unknown = !folders[name]
		case !ok || !e.info.Mode().IsRegular(): // symbolic links are not followed, and count as unknown files
			e.unknown = true
		default:
			if err := e.compare(ctx, root, name, want); err != nil {
				return wrapPath(name, err)
			}
		}
		p.present[name] = e
	}
	return nil
}

func (e *entry) compare(ctx context.Context, root *os.Root, name, want string) (err error) {
	e.digest, err = digestOf(ctx, root, name)
	e.generated, e.edited = true, name != ManifestName && want != hex.EncodeToString(e.digest[:])
	return err
}

func digestOf(ctx context.Context, root *os.Root, name string) (d digest, err error) {
	if ctx.Err() != nil {
		return d, ctx.Err()
	}
	file, err := root.Open(name)
	if err != nil {
		return d, err
	}
	defer func() { _ = file.Close() }() // opened for reading only
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return d, err
	}
	h.Sum(d[:0])
	return d, nil
}

// listTree returns a map with an entry for root, and for each file and folder below root. The keys of the map are
// paths. listTree reads the content of a folder only if the function "enter" returns true for this folder.
func listTree(ctx context.Context, root *os.Root, enter func(dir string) bool) (map[string]fs.FileInfo, error) {
	infos := map[string]fs.FileInfo{}
	return infos, fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			infos[name], err = d.Info()
		}
		if err == nil && d.IsDir() && !enter(name) {
			return fs.SkipDir
		}
		return wrapPath(name, err)
	})
}

// readFolderManifest reads the manifest of a folder. The result is empty if the folder has no manifest.
func readFolderManifest(root *os.Root) ([]byte, error) {
	info, err := root.Lstat(ManifestName)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return readManifest(root.Open(ManifestName))
}

// maxManifest is the maximum number of bytes that are read from a manifest. A manifest of maxManifest bytes can list
// more than a hundred thousand files. If a manifest is longer, only its first maxManifest bytes are read. A file that
// the manifest lists only after these bytes counts as an unknown file.
const maxManifest = 16 << 20

// readManifest reads and closes a manifest. The caller opens the manifest, and passes the opened file and the error of
// this attempt. If the error is not nil, readManifest only returns the error.
func readManifest(file *os.File, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // opened for reading only
	return io.ReadAll(io.LimitReader(file, maxManifest))
}

// parseManifest returns a map from the path of each listed file to the digest of the file.
func parseManifest(text []byte) map[string]string {
	digests := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if digest, path, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  "); ok && len(digest) == 2*sha256.Size { // not a comment
			digests[path] = digest
		}
	}
	return digests
}

func addParents(folders map[string]bool, file string) {
	for dir := path.Dir(file); dir != "." && dir != "/" && !folders[dir]; dir = path.Dir(dir) {
		folders[dir] = true
	}
}

// checkUnchanged returns an error if the folder has changed since the plan read it. A run swaps this folder with the
// staging folder. The run calls checkUnchanged before the swap, and again after the swap. The swap moves this folder to
// another path. Therefore the run passes the current path of the folder as the argument "name". This path is relative
// to the parent directory. checkUnchanged does not compare the contents of files, and is therefore about ten times as
// fast as reading the folder again.
func (p *Plan) checkUnchanged(ctx context.Context, name string) error {
	now := map[string]fs.FileInfo{}
	root, err := p.parent.root.OpenRoot(name)
	if err == nil {
		now, err = listTree(ctx, root, func(string) bool { return true })
		_ = root.Close() // opened for reading only
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading the folder again: %w", rootCause(err))
	}
	for path, e := range p.present {
		if info, ok := now[path]; !ok || !sameFile(e.info, info) {
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
	return fmt.Errorf("%s was changed by another program during the run: run the command again", path)
}

// sameFile reports whether a file or folder is unchanged. sameFile ignores the sizes and times of folders, because
// the caller compares the files in each folder one by one.
func sameFile(a, b fs.FileInfo) bool {
	if !os.SameFile(a, b) || a.Mode() != b.Mode() {
		return false
	}
	return a.IsDir() || a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}
