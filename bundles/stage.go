package bundles

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"syscall"
)

// fill writes the tree into a staging folder: each file that is as it was is the
// same file (see link), the others are new. Then it takes over what is to be
// kept. What replaces something has its mode, and its owner as far as possible.
//
// Nothing is flushed to the disk: that makes replacing 3,000 files two to eight
// times slower, and what a power failure takes can be generated again.
func (p *Plan) fill(ctx context.Context, s *staging) error {
	folders := p.folders()
	for _, folder := range folders {
		if err := interrupted(ctx); err != nil {
			return err
		}
		if err := p.fillFolder(s, folder); err != nil {
			return about(folder, err)
		}
	}
	if err := p.fillFiles(ctx, s); err != nil {
		return err
	}
	// Deepest first, because nothing in a folder can be reached once it is closed.
	for _, folder := range slices.Backward(folders) {
		if err := p.finishFolder(s, folder); err != nil {
			return about(folder, err)
		}
	}
	return nil
}

// folders lists the folders that are to be, each before those in it.
func (p *Plan) folders() []string {
	folders := map[string]bool{}
	for path, e := range p.present {
		if e.foreign {
			addParents(folders, path)
		}
		if e.foreign && e.info.IsDir() {
			folders[path] = true
		}
	}
	for file := range p.tree.paths() {
		addParents(folders, file)
	}
	return append([]string{"."}, slices.Sorted(maps.Keys(folders))...)
}

// fillFolder makes a folder that we can still write to. Its group comes first,
// because what is made in it may inherit that.
func (p *Plan) fillFolder(s *staging, folder string) error {
	name := inNew(folder)
	if err := s.root.Mkdir(name, 0o777); err != nil {
		return err
	}
	before, ok := p.present[folder]
	if !ok || !before.info.IsDir() {
		return nil
	}
	now, err := s.root.Lstat(name)
	if err != nil {
		return err
	}
	keepOwner(func(uid, gid int) error { return s.root.Lchown(name, uid, gid) }, before.info, now)
	if mode := before.info.Mode() | 0o700; mode != now.Mode() {
		return s.root.Chmod(name, mode)
	}
	return nil
}

// finishFolder gives a folder that was there before its very mode, and one that
// is not ours its time as well.
func (p *Plan) finishFolder(s *staging, folder string) error {
	before, ok := p.present[folder]
	if !ok || !before.info.IsDir() {
		return nil
	}
	if mode := before.info.Mode(); mode&0o700 != 0o700 {
		if err := s.root.Chmod(inNew(folder), mode); err != nil {
			return err
		}
	}
	if !before.foreign {
		return nil
	}
	return s.root.Chtimes(inNew(folder), before.info.ModTime(), before.info.ModTime())
}

func (p *Plan) fillFiles(ctx context.Context, s *staging) error {
	w := fileWriter{staging: s}
	defer w.close()
	for _, f := range append(p.tree.files, p.listing) {
		if err := interrupted(ctx); err != nil {
			return err
		}
		if err := p.put(&w, f); err != nil {
			return about(f.Path, err)
		}
	}
	for name, e := range p.present {
		if !e.foreign || e.info.IsDir() {
			continue
		}
		if err := interrupted(ctx); err != nil {
			return err
		}
		if err := p.take(s, name, e); err != nil {
			return about(name, err)
		}
	}
	return nil
}

// put makes one file of the tree.
func (p *Plan) put(w *fileWriter, f written) error {
	before := p.present[f.Path]
	if before.file && before.digest == f.digest && p.link(w.staging, f.Path) == nil {
		return nil
	}
	return w.write(f.File, before)
}

// link makes a file of the folder part of the new folder as well.
//
// That old and new folder share files does no harm, because they are never both
// in use: the old one goes as soon as the new one is in its place, and the new
// one goes if it does not get there. And it has a merit: whoever is editing such
// a file in place at this moment edits the one that stays. A file that changes
// is always made anew, so the old folder is whole until the end.
func (p *Plan) link(s *staging, name string) error {
	return s.place.link(s.place.root, path.Join(p.name, name), path.Join(s.name, inNew(name)))
}

// take takes over what is not ours, whatever it is: as it is, if the file
// system has links, and otherwise as a copy.
func (p *Plan) take(s *staging, name string, e entry) error {
	err := p.link(s, name)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EXDEV):
		return errors.New("lies on another file system, and cannot be kept: unmount it first")
	case e.info.Mode()&fs.ModeSymlink != 0:
		return p.copyLink(s, name)
	case e.info.Mode().IsRegular():
		return p.copyFile(s, name, e.info)
	default:
		return err
	}
}

func (p *Plan) copyLink(s *staging, name string) error {
	to, err := s.place.root.Readlink(path.Join(p.name, name))
	if err != nil {
		return err
	}
	return s.root.Symlink(to, inNew(name))
}

// copyFile copies a file with its mode and its time.
func (p *Plan) copyFile(s *staging, name string, info fs.FileInfo) (err error) {
	from, err := s.place.root.Open(path.Join(p.name, name))
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }() // it was only read
	to, err := s.root.OpenFile(inNew(name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	if _, err := to.ReadFrom(from); err != nil {
		return err
	}
	if err := to.Chmod(info.Mode()); err != nil {
		return err
	}
	return s.root.Chtimes(inNew(name), info.ModTime(), info.ModTime())
}

// fileWriter writes new files. It keeps the last folder open: files come ordered
// by path, and finding the way to each would take as long as writing it.
type fileWriter struct {
	*staging
	dir   string
	open  *os.Root
	buf   *bufio.Writer // for all files in turn
	usual fs.FileInfo   // of a new file in this folder; nil if not known
}

// write makes a file, with the mode of the one that it replaces.
func (w *fileWriter) write(f File, before entry) (err error) {
	root, err := w.folder(path.Dir(f.Path))
	if err != nil {
		return err
	}
	file, err := root.OpenFile(path.Base(f.Path), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := w.text(file, f.Content); err != nil {
		return err
	}
	if !before.file {
		return nil
	}
	return w.imitate(file, before.info)
}

func (w *fileWriter) text(file *os.File, content Content) error {
	if w.buf == nil {
		w.buf = bufio.NewWriterSize(nil, bufferSize)
	}
	w.buf.Reset(file)
	if _, err := content.WriteTo(w.buf); err != nil {
		return err
	}
	return w.buf.Flush()
}

// imitate gives a new file the mode and the owner of the one that it replaces.
// It asks only once in each folder which ones new files get there anyway.
func (w *fileWriter) imitate(file *os.File, before fs.FileInfo) (err error) {
	if w.usual == nil {
		if w.usual, err = file.Stat(); err != nil {
			return err
		}
	}
	keepOwner(file.Chown, before, w.usual)
	if before.Mode().Perm() == w.usual.Mode().Perm() {
		return nil
	}
	return file.Chmod(before.Mode().Perm())
}

func (w *fileWriter) folder(dir string) (*os.Root, error) {
	if w.open != nil && w.dir == dir {
		return w.open, nil
	}
	w.close()
	root, err := w.root.OpenRoot(inNew(dir))
	if err != nil {
		return nil, fmt.Errorf("opening the folder that was just made: %w", err)
	}
	w.dir, w.open, w.usual = dir, root, nil
	return root, nil
}

func (w *fileWriter) close() {
	if w.open != nil {
		_ = w.open.Close() // its files have been closed
	}
	w.open = nil
}
