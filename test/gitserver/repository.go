package gitserver

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Repository is a repository of a server, with a working copy in which its files can be changed.
type Repository struct {
	// Name is the name of the repository in URLs, such as jobs.git.
	Name   string
	server *Server
	work   string // the folder of the working copy; its Git data is in the folder "served"
	served string
}

// NewRepository creates an empty repository with the default branch main. Clients may fetch every commit by its hash.
func (s *Server) NewRepository(name string) (*Repository, error) {
	r := &Repository{name + ".git", s, filepath.Join(s.home, random()), filepath.Join(s.dir, name+".git")}
	if err := os.Mkdir(r.work, 0o755); err != nil {
		return nil, err
	}
	_, err := s.git(s.dir, "init", "-q", "--bare", "-b", "main", r.served)
	if err != nil {
		return nil, err
	}
	return r, r.Configure("uploadpack.allowAnySHA1InWant", "true")
}

// Configure changes a setting of the repository.
func (r *Repository) Configure(key, value string) error {
	_, err := r.Git("config", key, value)
	return err
}

// Git runs a git command in the working copy, and returns the output of the
// command.
func (r *Repository) Git(args ...string) (string, error) {
	return r.server.git(r.work, append([]string{"--git-dir=" + r.served, "--work-tree=" + r.work}, args...)...)
}

// Folder returns the folder of the working copy.
func (r *Repository) Folder() string { return r.work }

// Write writes files to the working copy. If the text of a file is empty, Write deletes the file.
func (r *Repository) Write(files map[string]string) error {
	for name, text := range files {
		file := filepath.Join(r.work, name)
		if text == "" {
			if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Remove deletes files of the working copy.
func (r *Repository) Remove(names ...string) error {
	files := map[string]string{}
	for _, name := range names {
		files[name] = ""
	}
	return r.Write(files)
}

// Commit commits all files of the working copy to the current branch, and returns the hash of the commit.
func (r *Repository) Commit(message string) (string, error) {
	if _, err := r.Git("add", "-A"); err != nil {
		return "", err
	}
	if _, err := r.Git("commit", "-q", "--allow-empty", "-m", message); err != nil {
		return "", err
	}
	return r.Head()
}

// Head returns the hash of the newest commit of the current branch.
func (r *Repository) Head() (string, error) { return r.Git("rev-parse", "HEAD") }

// Branch creates a branch at the current commit. The current branch stays the same.
func (r *Repository) Branch(name string) error {
	_, err := r.Git("branch", name)
	return err
}

// DeleteBranch deletes a branch that is not the current one.
func (r *Repository) DeleteBranch(name string) error {
	_, err := r.Git("branch", "-q", "-D", name)
	return err
}

// Tag creates a tag at the current commit, or moves an existing tag to it. If the message is not empty, Tag
// creates an annotated tag.
func (r *Repository) Tag(name, message string) error {
	args := []string{"tag", "-f", name}
	if message != "" {
		args = append(args, "-a", "-m", message)
	}
	_, err := r.Git(args...)
	return err
}

// ForcePush replaces the newest commit of the current branch with a new commit that has the same parent, and returns
// the hash of the new commit.
func (r *Repository) ForcePush(files map[string]string, message string) (string, error) {
	if err := r.Write(files); err != nil {
		return "", err
	}
	if _, err := r.Git("add", "-A"); err != nil {
		return "", err
	}
	if _, err := r.Git("commit", "-q", "--amend", "--allow-empty", "-m", message); err != nil {
		return "", err
	}
	return r.Head()
}

// Put stores a Git object with any content, such as a signed commit, and returns the hash of the object. Put also
// writes this hash to a Git reference, such as refs/heads/main. The argument "kind" is "commit" or "tag".
func (r *Repository) Put(kind, ref string, content []byte) (hash string, err error) {
	file := filepath.Join(r.server.home, random())
	if err := os.WriteFile(file, content, 0o644); err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.Remove(file)) }()
	if hash, err = r.Git("hash-object", "-w", "-t", kind, "--literally", file); err != nil {
		return "", err
	}
	_, err = r.Git("update-ref", ref, hash)
	return hash, err
}
