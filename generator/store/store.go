// Package store keeps results on disk from one run to the next. It is a cache:
// it may lose anything at any time, and whoever asks can do without. What it
// returns is what was put in, or nothing.
package store

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Bounds on what a folder holds. Those used last are kept.
const (
	maxEntry   = 32 << 20  // bytes of one result
	maxBytes   = 512 << 20 // of all
	maxEntries = 256       // a document has one for each environment, and one more
)

// Names of our files. Somebody may have named a folder that holds others.
const (
	finished   = ".trainyard-result"
	unfinished = ".trainyard-unfinished-"
)

// Dir is a store in a folder of its own.
type Dir struct {
	root *os.Root
	most int64 // bytes
}

// Open opens the store in a folder, and makes the folder if there is none. It
// refuses a folder that somebody else could write to: what lies there becomes
// objects of a cluster.
func Open(folder string) (*Dir, error) {
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return nil, err
	}
	if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	// To open a named pipe would wait for somebody to write to it.
	info, err := os.Stat(folder)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s: not a folder", folder)
	}
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	info, err = root.Stat(".")
	if err == nil && !private(info) {
		err = fmt.Errorf("%s: others can write to it", folder)
	}
	if err != nil {
		_ = root.Close() // nothing was written
		return nil, err
	}
	return &Dir{root, maxBytes}, nil
}

// Get returns what was put in under a key.
func (d *Dir) Get(key string) ([]byte, bool) {
	name := key + finished
	info, err := d.root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxEntry {
		return nil, false
	}
	text, err := d.root.ReadFile(name)
	if err != nil || len(text) < sha256.Size {
		return nil, false
	}
	sum, text := text[:sha256.Size], text[sha256.Size:]
	if !bytes.Equal(sum, sumOf(key, text)) {
		return nil, false
	}
	now := time.Now()
	_ = d.root.Chtimes(name, now, now) // or it is forgotten a little early
	return text, true
}

// Put keeps a text under a key, which is a file's name but for its end. Whatever goes wrong,
// the text is not kept.
func (d *Dir) Put(key string, text []byte) {
	if len(text) > maxEntry-sha256.Size {
		return
	}
	temporary := unfinished + rand.Text()
	err := d.root.WriteFile(temporary, append(sumOf(key, text), text...), 0o600)
	if err == nil {
		err = d.root.Rename(temporary, key+finished)
	}
	if err != nil {
		_ = d.root.Remove(temporary) // it may not be there
		return
	}
	d.forget()
}

// sumOf is of the key as well, so that a file with another's name is nothing.
func sumOf(key string, text []byte) []byte {
	h := sha256.New()
	fmt.Fprintf(h, "%q\n", key)
	h.Write(text)
	return h.Sum(nil)
}

// forget removes what was not used for longest, of our own.
func (d *Dir) forget() {
	entries, err := fs.ReadDir(d.root.FS(), ".")
	if err != nil {
		return
	}
	var infos []fs.FileInfo
	for _, entry := range entries {
		ours := strings.HasSuffix(entry.Name(), finished) || strings.HasPrefix(entry.Name(), unfinished)
		if info, err := entry.Info(); err == nil && ours && info.Mode().IsRegular() {
			infos = append(infos, info)
		}
	}
	slices.SortFunc(infos, func(a, b fs.FileInfo) int {
		return cmp.Or(b.ModTime().Compare(a.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	var total int64
	for i, info := range infos {
		total += info.Size()
		if i >= maxEntries || total > d.most {
			_ = d.root.Remove(info.Name()) // another run may have done so
		}
	}
}
