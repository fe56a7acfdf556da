package fetch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

const (
	maxDepth = 64   // folders in a path; a hostile commit can nest folders very deeply with few objects
	maxPath  = 1024 // bytes
)

var errTooDeep = fmt.Errorf("a path may have at most %d bytes and %d levels of folders", maxPath, maxDepth)

// find returns the entry at a path. It does not follow links.
func (t *tree) find(operation, name string) (entry, error) {
	found := entry{".", fs.ModeDir | 0o555, t.root}
	switch {
	case !fs.ValidPath(name):
		return entry{}, &fs.PathError{Op: operation, Path: name, Err: fs.ErrInvalid}
	case len(name) > maxPath || strings.Count(name, "/") >= maxDepth:
		return entry{}, &fs.PathError{Op: operation, Path: name, Err: errTooDeep}
	case name == ".":
		return found, nil
	}
	for part := range strings.SplitSeq(name, "/") {
		entries := t.folders[found.hash]
		i, exists := slices.BinarySearchFunc(entries, part, func(e entry, name string) int { return strings.Compare(e.name, name) })
		if !found.mode.IsDir() || !exists {
			return entry{}, &fs.PathError{Op: operation, Path: name, Err: fs.ErrNotExist}
		}
		found = entries[i]
	}
	return found, nil
}

func (t *tree) Stat(name string) (fs.FileInfo, error) {
	e, err := t.find("stat", name)
	if err != nil {
		return nil, err
	}
	return t.info(e), nil
}

func (t *tree) ReadFile(name string) ([]byte, error) {
	e, err := t.find("read", name)
	if err != nil {
		return nil, err
	}
	if !e.mode.IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errNotRegular}
	}
	return slices.Clone(t.files[e.hash]), nil
}

func (t *tree) ReadDir(name string) ([]fs.DirEntry, error) {
	e, err := t.find("readdir", name)
	if err != nil {
		return nil, err
	}
	if !e.mode.IsDir() {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: errors.New("not a folder")}
	}
	var list []fs.DirEntry
	for _, e := range t.folders[e.hash] {
		list = append(list, fs.FileInfoToDirEntry(t.info(e)))
	}
	return list, nil
}

var errNotRegular = errors.New("not a regular file: links and submodules are not followed")

func (t *tree) Open(name string) (fs.File, error) {
	e, err := t.find("open", name)
	if err != nil {
		return nil, err
	}
	switch {
	case e.mode.IsDir():
		list, err := t.ReadDir(name)
		return &openFolder{t.info(e), name, list}, err
	case e.mode.IsRegular():
		return &openFile{t.info(e), bytes.NewReader(t.files[e.hash])}, nil
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: errNotRegular}
}

func (t *tree) info(e entry) info { return info{e, int64(len(t.files[e.hash]))} }

// info describes a file. A commit does not record when its files were changed, so ModTime returns zero.
type info struct {
	entry
	size int64
}

func (i info) Name() string       { return path.Base(i.name) }
func (i info) Size() int64        { return i.size }
func (i info) Mode() fs.FileMode  { return i.mode }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool        { return i.mode.IsDir() }
func (i info) Sys() any           { return nil }

type openFile struct {
	info
	*bytes.Reader
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *openFile) Size() int64                { return f.size }
func (f *openFile) Close() error               { return nil }

type openFolder struct {
	info
	path string
	left []fs.DirEntry
}

func (f *openFolder) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *openFolder) Close() error               { return nil }

func (f *openFolder) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: f.path, Err: errors.New("is a folder")}
}

func (f *openFolder) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 || n > len(f.left) {
		if n > 0 && len(f.left) == 0 {
			return nil, io.EOF
		}
		n = len(f.left)
	}
	list := f.left[:n]
	f.left = f.left[n:]
	return list, nil
}
