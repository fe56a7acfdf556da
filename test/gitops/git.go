//go:build linux

package gitops

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/trainyard/trainyard/test/process"
	"github.com/trainyard/trainyard/test/repo"
)

// newPassword returns a random password of letters and digits, so that URLs can contain the password without escaping.
func newPassword() string { return strings.ToLower(rand.Text()) }

// startGitServer starts the Git server, unless it already runs.
func (g *GitOps) startGitServer(ctx context.Context) error {
	d := g.daemon(gitServer)
	if d.Ended() {
		if err := repo.Compile("../test/gitserver/cmd/gitserver", g.path("gitserver")); err != nil {
			return err
		}
		cmd := exec.Command(g.path("gitserver"), "--address", g.addresses.Git, "--password-file", g.path("password"), g.path("repositories"), Source)
		if err := d.Start(cmd); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	url, err := g.URL()
	if err != nil {
		return err
	}
	return process.WaitFor(ctx, d, func(ctx context.Context) error {
		_, err := git(ctx, "", "ls-remote", url)
		return err
	})
}

// Push creates a commit with the files of a folder, and pushes the commit. The pushed files replace all files of
// the repository. Push returns false if the newest commit of the repository already contains exactly the files of
// the folder.
func (g *GitOps) Push(ctx context.Context, folder, message string) (pushed bool, err error) {
	url, err := g.URL()
	if err != nil {
		return false, err
	}
	if folder, err = filepath.Abs(folder); err != nil {
		return false, err
	}
	if _, err := os.ReadDir(folder); err != nil {
		return false, fmt.Errorf("reading the folder: %w", err)
	}
	clone, err := os.MkdirTemp("", "gitops-")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(clone)) }()
	if _, err := git(ctx, clone, "clone", "-q", "--no-checkout", url, "."); err != nil {
		return false, err
	}
	if _, err := git(ctx, clone, "--work-tree", folder, "add", "-A"); err != nil {
		return false, err
	}
	if changes, err := git(ctx, clone, "--work-tree", folder, "status", "--porcelain"); err != nil || changes == "" {
		return false, err
	}
	if _, err := git(ctx, clone, "--work-tree", folder, "commit", "-q", "-m", message); err != nil {
		return false, err
	}
	_, err = git(ctx, clone, "push", "-q", "origin", "HEAD:main")
	return err == nil, err
}

// git runs a git command in a folder, and returns its output. The machine's settings for Git and for a proxy have no effect
// on the command.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0", "NO_PROXY=127.0.0.1",
		"GIT_AUTHOR_NAME=sandbox", "GIT_AUTHOR_EMAIL=sandbox@localhost", "GIT_COMMITTER_NAME=sandbox", "GIT_COMMITTER_EMAIL=sandbox@localhost")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, out)
	}
	return strings.TrimSpace(string(out)), nil
}
