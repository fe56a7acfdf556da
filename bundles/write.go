package bundles

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
)

// Writer makes folders hold trees. A folder is replaced as a whole or stays as
// it was, whatever happens; docs/writing.md says what holds where. While a
// Writer is open, other runs wait that want folders beside those it has planned
// for. The zero value is ready for use; it is for one goroutine.
type Writer struct {
	Force       bool              // overwrite files of ours that somebody edited
	KeepUnknown bool              // take over what is not ours, instead of refusing the folder
	ReadOnly    bool              // nothing will be written: make no parent folders, and tidy nothing up
	Tell        func(note string) // hears that a run has to wait, or left something lying about; may be nil

	places map[string]*place
}

// Close lets other runs in, and takes parent folders away that were made for nothing.
func (w *Writer) Close() {
	for _, p := range w.places {
		p.close()
	}
	w.places = nil
}

func (w *Writer) tell(format string, args ...any) {
	if w.Tell != nil {
		w.Tell(fmt.Sprintf(format, args...))
	}
}

// Plan is what would become of a folder.
type Plan struct {
	writer  *Writer
	place   *place
	dir     string // as it was given, for messages
	name    string // of the folder in its place
	tree    Tree
	present folder
	list    []byte  // the manifest that the folder has
	listing written // the one that it is to have
}

// Plan reads what a folder holds. If a run was killed while it was replacing
// the folder, that is put right first; apart from this, no folder is changed.
func (w *Writer) Plan(ctx context.Context, tree Tree, dir string) (*Plan, error) {
	dir = filepath.Clean(dir)
	parent, name, err := split(dir)
	if err != nil {
		return nil, err
	}
	p := &Plan{writer: w, dir: dir, name: name, tree: tree, listing: digested(File{ManifestName, Text(tree.manifest())})}
	if p.place, err = w.open(ctx, parent); err != nil {
		return nil, err
	}
	if err := p.place.repair(w, name); err != nil {
		return nil, fmt.Errorf("putting %s back, which a run that was killed has left without: %w", dir, err)
	}
	p.present, p.list, err = p.read(ctx, name)
	return p, err
}

// Manifest is the manifest of the folder's last bundle, or empty.
func (p *Plan) Manifest() []byte { return p.list }

// Differences lists what tells the folder from the tree, ordered by path. What
// is to be kept is no difference.
func (p *Plan) Differences() []string {
	found := append(p.wanting(), p.leftOver()...)
	if len(found) == 0 && p.present[ManifestName].digest != p.listing.digest {
		found = append(found, ManifestName+" differs")
	}
	slices.Sort(found)
	return found
}

// wanting lists files of the tree that the folder does not have like this.
func (p *Plan) wanting() []string {
	var found []string
	for _, f := range p.tree.files {
		switch e := p.present[f.Path]; {
		case e.foreign:
			found = append(found, f.Path+" is not in "+ManifestName)
		case !e.file:
			found = append(found, f.Path+" is missing")
		case e.digest != f.digest:
			found = append(found, f.Path+" differs")
		}
	}
	return found
}

// leftOver lists what the folder has and the tree has not.
func (p *Plan) leftOver() []string {
	var found []string
	wanted := p.tree.paths()
	for path, e := range p.present {
		if (e.file || e.foreign && !p.writer.KeepUnknown) && !wanted[path] {
			found = append(found, e.named(path)+" is not generated")
		}
	}
	return found
}

// Write makes the folder hold the tree and nothing else, or returns an error
// and leaves the folder as it was; what Check refuses is refused. A folder that
// holds the tree already is not touched, and changed is false.
func (p *Plan) Write(ctx context.Context) (changed bool, err error) {
	if err := p.Check(); err != nil {
		return false, err
	}
	if p.upToDate() {
		return false, nil
	}
	if err := p.replace(ctx); err != nil {
		return false, fmt.Errorf("writing %s: %w", p.dir, err)
	}
	return true, nil
}

// upToDate takes what Check has let through for granted. That the manifest is
// right means that no file of ours is left over.
func (p *Plan) upToDate() bool {
	return p.present != nil && len(p.Differences()) == 0
}

// replace stages the tree, puts it in the place of the folder, and takes the
// folder away.
func (p *Plan) replace(ctx context.Context) error {
	switch {
	case p.writer.ReadOnly:
		return errors.New("the Writer is for reading only")
	case p.present != nil && aroundUs(p.present["."].info):
		return errors.New("the current folder is this one or lies in it, and would be gone: run the command from outside")
	}
	s, err := p.place.stage(p.name)
	if err != nil {
		return fmt.Errorf("making a folder beside it, to replace it as a whole: %w", err)
	}
	if err = p.fill(ctx, s); err == nil {
		err = p.install(ctx, s)
	}
	if err != nil && !s.stuck {
		err = fmt.Errorf("%w; nothing was changed", err)
	}
	if problem := s.remove(); problem != nil {
		p.writer.tell("cannot remove %s: %v; the next run tries again", filepath.Join(p.place.path, s.name), problem)
	}
	return err
}

// install swaps the folder for what is staged, and swaps it back if somebody
// changed the folder after it was read: their work would be lost. Looking
// before the swap spares readers the way there and back in nearly all cases;
// looking after it, when nobody finds the old folder any more, misses none.
func (p *Plan) install(ctx context.Context, s *staging) error {
	if err := p.unchanged(ctx, p.name); err != nil {
		return err
	}
	if err := s.swap(p.present != nil); err != nil || p.present == nil {
		return err
	}
	if err := p.unchanged(context.WithoutCancel(ctx), s.old()); err != nil {
		return and(err, s.swapBack())
	}
	return nil
}

// WriteDir plans, checks and writes in one go.
func (t Tree) WriteDir(dir string, force bool) (changed bool, err error) {
	w := &Writer{Force: force}
	defer w.Close()
	p, err := w.Plan(context.Background(), t, dir)
	if err != nil {
		return false, err
	}
	return p.Write(context.Background())
}

// paths is the set of the tree's files, and the manifest.
func (t Tree) paths() map[string]bool {
	paths := map[string]bool{ManifestName: true}
	for _, f := range t.files {
		paths[f.Path] = true
	}
	return paths
}

// split returns the folder that dir lies in, and its name there. Dots at the
// end have no name of their own; they are followed as the system does.
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
