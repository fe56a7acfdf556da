package bundles

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// place is the directory that bundles' folders lie in, opened once and locked.
// Whatever is done to them is done through root, so that no symbolic link that
// somebody puts there meanwhile leads elsewhere.
type place struct {
	path    string   // as it was given
	root    *os.Root // nil where there is no such directory, and there is to be none
	handle  *os.File // the same directory, for what takes a descriptor
	release func()   // gives up the lock
	made    []string // directories that had to be made, outermost first

	// Steps that not every file system knows.
	exchange func(from *os.File, name string, to *os.File, other string) error
	link     func(root *os.Root, name, other string) error
}

// open returns the place of a path, and opens it if that has not been done.
func (w *Writer) open(ctx context.Context, path string) (*place, error) {
	if p, ok := w.places[path]; ok {
		return p, nil
	}
	p, err := openPlace(ctx, path, w, usualPatience)
	if err != nil {
		return nil, err
	}
	if w.places == nil {
		w.places = map[string]*place{}
	}
	w.places[path] = p
	return p, nil
}

// openPlace opens and locks a directory, and makes it if something is to be
// written there. It starts again if somebody moved the directory away while it
// waited for the lock.
func openPlace(ctx context.Context, path string, w *Writer, wait patience) (*place, error) {
	p := &place{path: path, exchange: exchange, link: (*os.Root).Link}
	for ctx.Err() == nil {
		if !w.ReadOnly {
			if err := p.make(); err != nil {
				p.unmake()
				return nil, err
			}
		}
		err := p.lock(ctx, w, wait)
		switch {
		case w.ReadOnly && errors.Is(err, fs.ErrNotExist):
			return p, nil
		case errors.Is(err, fs.ErrNotExist): // another run was done with it and took it away
		case err != nil:
			p.unmake()
			return nil, err
		case p.current():
			return p, nil
		default:
			p.letGo()
		}
	}
	p.unmake()
	return nil, fmt.Errorf("opening the folder %s: %w", path, reason(ctx.Err()))
}

// make makes the directory, and remembers which of its parents were missing.
func (p *place) make() error {
	var missing []string
	for path := p.path; ; path = filepath.Dir(path) {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) || path == filepath.Dir(path) {
			break
		}
		missing = append(missing, path)
	}
	for _, path := range slices.Backward(missing) {
		switch err := os.Mkdir(path, 0o777); {
		case err == nil:
			p.made = append(p.made, path)
		case !errors.Is(err, fs.ErrExist) || isLink(path): // a link that leads nowhere exists, too
			return fmt.Errorf("making the folder %s: %w", path, reason(err))
		}
	}
	return nil
}

func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// unmake takes away what make has made, as far as it is empty.
func (p *place) unmake() {
	for _, path := range slices.Backward(p.made) {
		if err := os.Remove(path); err != nil {
			break // somebody uses it: then it is not for nothing
		}
	}
	p.made = nil
}

func (p *place) lock(ctx context.Context, w *Writer, wait patience) error {
	root, err := os.OpenRoot(p.path)
	if err != nil {
		return fmt.Errorf("opening the folder %s: %w", p.path, reason(err))
	}
	handle, err := root.Open(".")
	if err != nil {
		_ = root.Close() // it was only read
		return fmt.Errorf("opening the folder %s: %w", p.path, reason(err))
	}
	p.root, p.handle = root, handle
	if p.release, err = wait.lock(ctx, p, w); err != nil {
		p.release = nil
		p.letGo()
		return err
	}
	return nil
}

// current tells whether the path still leads to what is locked.
func (p *place) current() bool {
	there, err := os.Stat(p.path)
	if err != nil {
		return false
	}
	here, err := p.handle.Stat()
	return err == nil && os.SameFile(there, here)
}

// letGo unlocks and closes the directory.
func (p *place) letGo() {
	if p.root == nil {
		return
	}
	if p.release != nil {
		p.release()
	}
	_ = p.handle.Close() // it was only read
	_ = p.root.Close()
	p.root, p.handle, p.release = nil, nil, nil
}

// close unlocks the directory, and takes it away if it is of no use.
func (p *place) close() {
	p.unmake()
	p.letGo()
}

// aroundUs tells whether the current folder is this one, or lies in it.
func aroundUs(folder fs.FileInfo) bool {
	var last fs.FileInfo
	for path := "."; ; path = filepath.Join("..", path) {
		at, err := os.Stat(path)
		switch {
		case err != nil || last != nil && os.SameFile(at, last): // the root is its own parent
			return false
		case os.SameFile(at, folder):
			return true
		}
		last = at
	}
}
