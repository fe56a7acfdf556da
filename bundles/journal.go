package bundles

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// A staging folder lies beside the folder that it is for, and holds
//
//	.gitignore  the mark: that the staging folder is ours, and for which folder
//	new         the folder to be; after an exchange, the folder that was
//	old         the folder that was, where there is no exchange
//	gone        what was old, once nobody can need it again
//
// It is also the journal. Without an exchange there is a moment when the folder
// is missing, and a run that is killed then leaves old: the next run puts it
// back. In all other cases the folder is whole, and the rest can go.
const (
	stagedPrefix = ".trainyard-staged-"
	markName     = ".gitignore" // so that a run that was killed leaves nothing for `git add .`
	newName      = "new"
	oldName      = "old"
	goneName     = "gone"
)

// markFor is what the mark for a folder says.
func markFor(name string) string {
	return fmt.Sprintf("# trainyard is replacing the folder %q, or was killed doing so: the next run removes this.\n*\n", name)
}

// staging is a staging folder.
type staging struct {
	place *place
	name  string   // in its place
	of    string   // the folder that it is for
	root  *os.Root // the staging folder itself
	using string   // newName or oldName: where the folder that was lies after swap
	stuck bool     // the folder that was could not be put back, so it must not be removed
}

// inNew is where a path of the folder lies in its staging folder.
func inNew(name string) string { return path.Join(newName, name) }

// old is where the folder that was lies in its place.
func (s *staging) old() string { return path.Join(s.name, s.using) }

// stage makes an empty staging folder.
func (p *place) stage(of string) (*staging, error) {
	s := &staging{place: p, name: stagedPrefix + strings.ToLower(rand.Text()[:10]), of: of}
	err := p.root.Mkdir(s.name, 0o700)
	if err != nil {
		return nil, reason(err)
	}
	if s.root, err = p.root.OpenRoot(s.name); err != nil {
		return nil, and(reason(err), p.root.Remove(s.name))
	}
	if err := s.mark(); err != nil {
		return nil, and(reason(err), s.remove())
	}
	return s, nil
}

// mark says for which folder the staging folder is.
func (s *staging) mark() (err error) {
	f, err := s.root.OpenFile(markName, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	_, err = f.WriteString(markFor(s.of))
	return errors.Join(err, f.Close())
}

func (s *staging) flushMark() error {
	f, err := s.root.OpenFile(markName, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// leftovers finds the staging folders of a folder that killed runs left behind.
// Nobody uses them: that would take the lock, and we have it. What has no mark
// for this very folder, or belongs to another user, is not touched.
func (p *place) leftovers(of string) ([]*staging, error) {
	entries, err := fs.ReadDir(p.root.FS(), ".")
	if err != nil {
		return nil, err
	}
	var found []*staging
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), stagedPrefix) || !e.IsDir() {
			continue
		}
		if s := p.leftover(e.Name(), of); s != nil {
			found = append(found, s)
		}
	}
	return found, nil
}

// leftover opens a staging folder if it is ours.
func (p *place) leftover(name, of string) *staging {
	root, err := p.root.OpenRoot(name)
	if err != nil {
		return nil // another user's
	}
	s := &staging{place: p, name: name, of: of, root: root}
	if info, err := root.Stat("."); err == nil && ownedByUs(info) && s.ours() {
		return s
	}
	s.close()
	return nil
}

// ours tells whether the mark is there. A run that was killed before it could
// write the mark has left nothing else.
func (s *staging) ours() bool {
	text, err := s.root.ReadFile(markName)
	if err == nil && string(text) == markFor(s.of) {
		return true
	}
	entries, problem := fs.ReadDir(s.root.FS(), ".")
	nothing := problem == nil && (len(entries) == 0 || len(entries) == 1 && entries[0].Name() == markName)
	return nothing && (errors.Is(err, fs.ErrNotExist) || err == nil && len(text) == 0)
}

// repair makes a folder whole again after a run that was killed, and removes
// what that run left. Who only reads removes nothing.
func (p *place) repair(w *Writer, name string) error {
	if p.root == nil || w.ReadOnly && p.holds(name) {
		return nil
	}
	left, err := p.leftovers(name)
	if err != nil {
		return reason(err)
	}
	for _, s := range left {
		if err := s.putBack(); err != nil {
			s.close()
			return fmt.Errorf("it lies in %s: %w", filepath.Join(p.path, s.name, oldName), reason(err))
		}
		if w.ReadOnly {
			s.close()
			continue
		}
		if err := s.remove(); err != nil {
			w.tell("cannot remove %s, which a run that was killed left behind: %v", filepath.Join(p.path, s.name), err)
		}
	}
	return nil
}

// holds tells whether there is anything of a name.
func (p *place) holds(name string) bool {
	_, err := p.root.Lstat(name)
	return !errors.Is(err, fs.ErrNotExist)
}

// putBack puts the folder that was in its place again if nothing is there.
func (s *staging) putBack() error {
	if s.place.holds(s.of) {
		return nil
	}
	err := s.place.root.Rename(path.Join(s.name, oldName), s.of)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it was to be the first of its name
	}
	return err
}

// remove removes the staging folder with all that is in it. The mark goes last,
// so that what a killed run leaves can still be recognized; old goes at once or
// not at all, so that what is put back is whole.
func (s *staging) remove() error {
	defer s.close()
	if s.stuck {
		return nil
	}
	if err := s.root.Rename(oldName, goneName); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return reason(err)
	}
	for _, name := range []string{newName, goneName, markName} {
		if err := removeAll(s.root, name); err != nil {
			return reason(err)
		}
	}
	return reason(s.place.root.Remove(s.name))
}

func (s *staging) close() { _ = s.root.Close() } // a directory has nothing left to write

// removeAll also removes what lies in folders that were made read-only.
func removeAll(root *os.Root, name string) error {
	err := root.RemoveAll(name)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	err = fs.WalkDir(root.FS(), name, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			return root.Chmod(path, 0o700)
		}
		return err
	})
	if err != nil {
		return err
	}
	return root.RemoveAll(name)
}
