package bundles

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// parentDir is a locked directory that contains folders of bundles. The writer changes files only through the os.Root
// in the field "root". An os.Root follows no symbolic link to a place outside the directory.
type parentDir struct {
	path   string   // as the user wrote it
	root   *os.Root // nil if the directory does not exist and the Writer is read-only
	handle *os.File // the open directory, to which the lock belongs

	// The functions "exchange" and "link" make system calls that some file systems do not support. Tests replace the
	// functions "exchange" and "link".
	exchange func(from *os.File, name string, to *os.File, other string) error
	link     func(root *os.Root, name, other string) error
}

// open opens and locks a parent directory. If the Writer has already opened the directory, open returns the same parentDir.
func (w *Writer) open(ctx context.Context, path string) (*parentDir, error) {
	if p, ok := w.parents[path]; ok {
		return p, nil
	}
	p, err := openParentDir(ctx, path, w, defaultLockTimeout)
	if err != nil {
		return nil, err
	}
	if w.parents == nil {
		w.parents = map[string]*parentDir{}
	}
	w.parents[path] = p
	return p, nil
}

// openParentDir opens and locks a directory. If the directory does not exist, and the Writer is read-only,
// openParentDir creates nothing, and returns a parentDir whose field "root" is nil. For any other Writer, openParentDir
// first creates a missing directory.
func openParentDir(ctx context.Context, path string, w *Writer, timeout lockTimeout) (*parentDir, error) {
	p := &parentDir{path: path, exchange: exchangeNames, link: (*os.Root).Link}
	var err error
	if !w.ReadOnly {
		err = os.MkdirAll(path, 0o777)
	}
	if err == nil {
		p.root, err = os.OpenRoot(path)
	}
	if w.ReadOnly && errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err == nil {
		p.handle, err = p.root.Open(".")
	}
	if err != nil {
		p.close()
		return nil, fmt.Errorf("opening the folder %s: %w", path, rootCause(err))
	}
	if err := timeout.lock(ctx, p.handle, path, w); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// close releases the lock by closing the directory.
func (p *parentDir) close() {
	if p.handle != nil {
		_ = p.handle.Close() // opened for reading only
	}
	if p.root != nil {
		_ = p.root.Close() // opened for reading only
	}
}

func (p *parentDir) exists(name string) bool {
	_, err := p.root.Lstat(name)
	return !errors.Is(err, fs.ErrNotExist)
}

func containsWorkingDir(folder fs.FileInfo) bool {
	dir, _ := os.Getwd() // on failure, the loop checks "." only
	dir, _ = filepath.EvalSymlinks(dir)
	for {
		if info, err := os.Stat(dir); err == nil && os.SameFile(info, folder) {
			return true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return false
		}
		dir = parent
	}
}
