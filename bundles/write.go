package bundles

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
)

// Writer writes trees to folders. A Writer replaces a folder as a whole or leaves the folder unchanged; docs/writing.md
// lists the guarantees for each operating system. Other runs that write to the same parent directories wait until Close
// is called. The zero value of a Writer is ready for use. Only one goroutine may use a Writer.
type Writer struct {
	Force       bool              // overwrite generated files that somebody edited
	KeepUnknown bool              // keep files that are not in the manifest, instead of refusing the folder
	ReadOnly    bool              // only compare folders with trees; create no directories and remove no staging folders
	Note        func(note string) // receives notes about waiting and about files left behind; can be nil

	parents map[string]*parentDir
}

// Close releases the locks.
func (w *Writer) Close() {
	for _, p := range w.parents {
		p.close()
	}
	w.parents = nil
}

func (w *Writer) note(format string, args ...any) {
	if w.Note != nil {
		w.Note(fmt.Sprintf(format, args...))
	}
}

// Plan is the comparison of a folder with a tree of files. The method Write writes this tree to the folder.
type Plan struct {
	writer   *Writer
	parent   *parentDir
	dir      string // as the user wrote it, for messages
	name     string // name of the folder in its parent directory
	tree     Tree
	present  map[string]entry // by path with slashes; "." is the folder itself; nil if there is no folder
	manifest []byte           // text of the manifest in the present folder
	listing  hashedFile       // the new manifest
}

// Plan compares a folder with a tree of files. If an earlier run was killed,
// Plan first recovers the folder.
func (w *Writer) Plan(ctx context.Context, tree Tree, dir string) (*Plan, error) {
	dir = filepath.Clean(dir)
	parent, name, err := split(dir)
	if err != nil {
		return nil, err
	}
	p := &Plan{writer: w, dir: dir, name: name, tree: tree, listing: hashed(File{ManifestName, Text(tree.buildManifest())})}
	if p.parent, err = w.open(ctx, parent); err != nil {
		return nil, err
	}
	if p.parent.root == nil {
		return p, nil
	}
	if err := p.parent.recoverTarget(w, name); err != nil {
		return nil, err
	}
	if err := p.read(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

// split returns the parent directory and the name of a folder. If a path ends with "." or "..", its last part is not
// the name of the folder. Therefore the function first resolves the symbolic links in this path, and makes this path
// absolute.
func split(dir string) (parent, name string, err error) {
	if base := filepath.Base(dir); base == "." || base == ".." {
		if dir, err = filepath.EvalSymlinks(dir); err == nil {
			dir, err = filepath.Abs(dir)
		}
		if err != nil {
			return "", "", err
		}
	}
	parent, name = filepath.Dir(dir), filepath.Base(dir)
	if parent == dir {
		return "", "", fmt.Errorf("writing %s: the root of a file system cannot be replaced", dir)
	}
	return parent, name, nil
}

// Inventory returns the inventory of the present bundle. The inventory is empty if there is no bundle.
func (p *Plan) Inventory() []Entry { return parseInventory(p.manifest) }

// Differences returns a list of the differences between the folder and the tree. The list is sorted by path. A file in
// the folder is unknown if the manifest does not list the file, or if the file is a symbolic link. Differences reports
// an unknown file in two cases. In the first case, the tree contains a file with the same path. In the second case, the
// Writer's field KeepUnknown is false.
func (p *Plan) Differences() []string {
	var found []string
	for _, f := range p.tree.files {
		switch e := p.present[f.Path]; {
		case e.unknown:
			found = append(found, f.Path+" is not in "+ManifestName)
		case !e.generated:
			found = append(found, f.Path+" is missing")
		case e.digest != f.digest:
			found = append(found, f.Path+" differs")
		}
	}
	wanted := p.tree.listPaths()
	for path, e := range p.present {
		if (e.generated || e.unknown && !p.writer.KeepUnknown) && !wanted[path] {
			found = append(found, e.pathLabel(path)+" is not generated")
		}
	}
	if len(found) == 0 && p.present[ManifestName].digest != p.listing.digest {
		found = append(found, ManifestName+" differs")
	}
	slices.Sort(found)
	return found
}

// Write replaces the folder with the tree, or returns an error and leaves the folder unchanged. If Check returns an
// error, Write returns the same error. If the folder is up to date, Write leaves the folder untouched, and the result
// "changed" is false.
func (p *Plan) Write(ctx context.Context) (changed bool, err error) {
	if err := p.Check(); err != nil {
		return false, err
	}
	if len(p.Differences()) == 0 {
		return false, nil
	}
	if err := p.replace(ctx); err != nil {
		return false, fmt.Errorf("writing %s: %w", p.dir, err)
	}
	return true, nil
}

func (p *Plan) replace(ctx context.Context) error {
	switch {
	case p.writer.ReadOnly:
		return errors.New("this run is read-only")
	case p.present != nil && containsWorkingDir(p.present["."].info):
		return errors.New("the command would replace this folder, but the working directory is this folder or is inside it: run the command from another directory")
	}
	s, err := p.parent.stage(p.name)
	if err != nil {
		return fmt.Errorf("creating a staging folder next to the target folder: %w", err)
	}
	if err = p.fill(ctx, s); err == nil {
		err = p.install(ctx, s)
	}
	if err != nil && !s.rollbackFailed {
		err = fmt.Errorf("%w; nothing was changed", err)
	}
	if failure := s.remove(); failure != nil {
		p.writer.note("cannot remove %s: %v; the next run tries again", filepath.Join(p.parent.path, s.name), failure)
	}
	return err
}

// install swaps the staged folder with the present folder. Before and after the swap, install checks whether another
// program has changed the present folder. The first check finds nearly all changes, and finds them before the new folder
// becomes visible. The second check finds changes that were made between the first check and the swap. If the second
// check finds a change, install swaps the folders back. Later checks are not needed, because after the swap, other
// programs no longer find the old folder under its name.
func (p *Plan) install(ctx context.Context, s *staging) error {
	if err := p.checkUnchanged(ctx, p.name); err != nil {
		return err
	}
	if err := s.swap(p.present != nil); err != nil || p.present == nil {
		return err
	}
	if err := p.checkUnchanged(context.WithoutCancel(ctx), s.previousPath()); err != nil {
		return joinErrors(err, s.swapBack())
	}
	return nil
}

// WriteDir writes the tree to a folder. WriteDir calls Writer.Plan and Plan.Write with a new Writer, and then closes
// the Writer.
func (t Tree) WriteDir(dir string, force bool) (changed bool, err error) {
	w := &Writer{Force: force}
	defer w.Close()
	p, err := w.Plan(context.Background(), t, dir)
	if err != nil {
		return false, err
	}
	return p.Write(context.Background())
}
