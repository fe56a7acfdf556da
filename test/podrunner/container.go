//go:build linux

package podrunner

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// becomeContainer turns this process, which already has new namespaces, into a container. The first argument of the process
// is the path of the JSON file that contains the container's plan. becomeContainer returns only if it fails.
func becomeContainer() error {
	runtime.LockOSThread() // Each thread has its own capabilities, so becomeContainer must stay on one thread.
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		return fmt.Errorf("reading the plan: %w", err)
	}
	var p plan
	if err := json.Unmarshal(text, &p); err != nil {
		return fmt.Errorf("reading the plan: %w", err)
	}
	if err := unix.Sethostname([]byte(p.Hostname)); err != nil {
		return fmt.Errorf("setting the host name: %w", err)
	}
	if err := p.build(); err != nil {
		return fmt.Errorf("building the root: %w", err)
	}
	if err := enterRoot(p.Root, p.Dir); err != nil {
		return fmt.Errorf("entering the root: %w", err)
	}
	if err := dropPrivileges(); err != nil {
		return fmt.Errorf("dropping privileges: %w", err)
	}
	return p.exec()
}

// enterRoot makes the folder "root" the only visible file system, and changes to the working directory "dir".
func enterRoot(root, dir string) error {
	if err := unix.Chdir(root); err != nil {
		return fmt.Errorf("changing into the root: %w", err)
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivoting: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("detaching the machine's root: %w", err)
	}
	if err := unix.Chdir(dir); err != nil {
		return fmt.Errorf("changing to the working directory %s: %w", dir, err)
	}
	return nil
}

// exec replaces this process by the container's command. Like container runtimes, exec looks up the command in the PATH
// of the container.
func (p *plan) exec() error {
	os.Clearenv()
	for _, assignment := range p.Env {
		if path, ok := strings.CutPrefix(assignment, "PATH="); ok {
			_ = os.Setenv("PATH", path)
		}
	}
	program, err := exec.LookPath(p.Command[0])
	if err != nil {
		return fmt.Errorf("finding the command: %w", err)
	}
	if err := unix.Exec(program, p.Command, p.Env); err != nil {
		return fmt.Errorf("starting %s: %w", program, err)
	}
	return nil
}
