//go:build linux

package podrunner

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// build mounts the root file system and creates its files.
func (p *plan) build() error {
	if err := os.Mkdir(p.Root, 0o755); err != nil {
		return fmt.Errorf("creating the folder of the root: %w", err)
	}
	if err := unix.Mount("tmpfs", p.Root, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755"); err != nil {
		return fmt.Errorf("mounting: %w", err)
	}
	if err := p.createFiles(); err != nil {
		return err
	}
	for _, m := range p.Mounts {
		if err := m.bindMount(p.Root); err != nil {
			return fmt.Errorf("mounting %s at %s: %w", m.From, m.To, err)
		}
	}
	if err := unix.Mount("proc", filepath.Join(p.Root, "proc"), "proc", procFlags|unix.MS_RDONLY, ""); err != nil {
		return fmt.Errorf("mounting /proc: %w", err)
	}
	if p.ReadOnly {
		return forbidWriting(p.Root, 0)
	}
	return nil
}

// createFiles creates the folders, files and links in the root file system of the container.
func (p *plan) createFiles() error {
	for _, path := range p.Folders {
		if err := os.MkdirAll(filepath.Join(p.Root, path), 0o755); err != nil {
			return fmt.Errorf("creating a folder: %w", err)
		}
	}
	for path, content := range p.Files {
		if err := createFile(filepath.Join(p.Root, path), content); err != nil {
			return err
		}
	}
	for path, target := range p.Links {
		if err := os.Symlink(target, filepath.Join(p.Root, path)); err != nil {
			return fmt.Errorf("creating a link: %w", err)
		}
	}
	return nil
}

// bindMount adds the bind mount "m" below the folder "root". bindMount creates the mount point if
// it is missing.
func (m mount) bindMount(root string) error {
	to := filepath.Join(root, m.To)
	from, err := os.Stat(m.From)
	if err != nil {
		return err
	}
	if _, err := os.Stat(to); err != nil {
		if from.IsDir() {
			err = os.MkdirAll(to, 0o755)
		} else {
			err = createFile(to, "")
		}
		if err != nil {
			return err
		}
	}
	if err := unix.Mount(m.From, to, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("binding: %w", err)
	}
	if m.ReadOnly {
		return forbidWriting(to, unix.AT_RECURSIVE)
	}
	return nil
}

// createFile writes a file and creates its parent folders.
func createFile(path, content string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("creating a folder: %w", err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		return fmt.Errorf("creating a file: %w", err)
	}
	return nil
}

// forbidWriting makes a mount read-only.
func forbidWriting(path string, flags uint) error {
	if err := unix.MountSetattr(unix.AT_FDCWD, path, flags, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
		return fmt.Errorf("making %s read-only: %w", path, err)
	}
	return nil
}
