package bundles

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// A staging folder has the name .trainyard-staged-FOLDER-RANDOM and lies next to the folder that it replaces. The
// staging folder contains:
//
//   - .gitignore: hides the staging folder from Git
//   - new: the new folder; after an atomic exchange, the folder "new" contains the previous files
//   - old: the previous folder, if the file system has no atomic exchange
//
// If a run is killed, the next run finds the staging folder of the killed run. Without an atomic exchange, the swap
// first moves the target folder to "old", and then moves "new" to the target. If the run was killed between these two
// moves, the target folder is missing, and the staging folder contains both "new" and "old". The next run then moves
// "old" back to the target. If the run was killed at any other moment, the next run moves nothing. In this case, the
// target folder is complete, or there was no target folder before the killed run started. Finally, the next run removes
// the staging folder of the killed run. A read-only run is the exception: it keeps the staging folder.
const (
	stagedPrefix = ".trainyard-staged-"
	savedPrefix  = ".trainyard-saved-" // prefix of staging folders that no run removes, because a rollback failed
	randomLength = 10                  // characters

	newName    = "new"
	oldName    = "old"
	ignoreName = ".gitignore"
)

type staging struct {
	parent   *parentDir
	name     string        // name of the staging folder in the parent directory
	target   string        // name of the folder to replace
	root     *os.Root      // the staging folder itself
	previous string        // newName or oldName: the name of the previous folder after the swap
	buffer   *bufio.Writer // shared by all files

	rollbackFailed bool // the staging folder contains the only copy of the previous folder
}

func inNew(name string) string { return path.Join(newName, name) }

// previousPath returns the path to which the swap moves the previous folder. The path is relative to the parent
// directory.
func (s *staging) previousPath() string { return path.Join(s.name, s.previous) }

func (p *parentDir) stage(target string) (*staging, error) {
	s := &staging{parent: p, name: stagedPrefix + target + "-" + strings.ToLower(rand.Text()[:randomLength]), target: target}
	err := p.root.Mkdir(s.name, 0o700)
	if err != nil {
		return nil, rootCause(err)
	}
	if s.root, err = p.root.OpenRoot(s.name); err != nil {
		return nil, joinErrors(rootCause(err), p.removeStaged(s.name))
	}
	if err := s.root.WriteFile(ignoreName, []byte("*\n"), 0o666); err != nil {
		return nil, joinErrors(rootCause(err), s.remove())
	}
	return s, nil
}

// remove deletes the staging folder. After a failed rollback, the staging folder contains the only copy of the previous
// folder, so the method deletes nothing.
func (s *staging) remove() error {
	_ = s.root.Close() // closing a directory cannot lose data
	if s.rollbackFailed {
		return nil
	}
	return s.parent.removeStaged(s.name)
}

// recoverTarget cleans up after killed runs. If the target folder is missing, recoverTarget moves the previous folder
// back from the staging folder of a killed run. recoverTarget then removes the staging folders of the killed runs. The
// staging folders are not in use, because this run holds the lock, and all other runs wait for the lock. On a file
// system without locks, recoverTarget can remove the staging folder of another active run. The other run then fails. A
// read-only Writer removes nothing.
func (p *parentDir) recoverTarget(w *Writer, target string) error {
	if w.ReadOnly && p.exists(target) {
		return nil
	}
	entries, err := fs.ReadDir(p.root.FS(), ".")
	if err != nil {
		return fmt.Errorf("reading the folder %s: %w", p.path, rootCause(err))
	}
	prefix := stagedPrefix + target + "-"
	for _, e := range entries {
		if name := e.Name(); e.IsDir() && strings.HasPrefix(name, prefix) && len(name) == len(prefix)+randomLength {
			if err := p.recoverFrom(w, name, target); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *parentDir) recoverFrom(w *Writer, staged, target string) error {
	if _, err := p.root.Lstat(path.Join(staged, newName)); err == nil && !p.exists(target) {
		err := p.root.Rename(path.Join(staged, oldName), target)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // no old folder: the killed run was creating a new target
			return fmt.Errorf("recovering %s after an interrupted run: renaming %s: %w", filepath.Join(p.path, target), filepath.Join(p.path, staged, oldName), rootCause(err))
		}
	}
	if w.ReadOnly {
		return nil
	}
	if err := p.removeStaged(staged); err != nil {
		w.note("cannot remove %s, left by an interrupted run: %v", filepath.Join(p.path, staged), err)
	}
	return nil
}

// removeStaged removes a staging folder. It fails if the staging folder contains anything other than .gitignore, "new"
// and "old". It removes .gitignore last: if the run is killed during the removal, Git still ignores the remaining
// files.
func (p *parentDir) removeStaged(staged string) error {
	for _, name := range []string{newName, oldName, ignoreName} {
		if err := removeAll(p.root, path.Join(staged, name)); err != nil {
			return rootCause(err)
		}
	}
	return rootCause(p.root.Remove(staged))
}

// removeAll removes a folder, even if somebody made subfolders read-only.
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
