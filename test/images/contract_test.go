//go:build linux

package images

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trainyard/trainyard/test/repo"
)

// TestImagesHoldWhatJobsNeed: what ran in pods is good by examples/images/check-image.sh, too.
func TestImagesHoldWhatJobsNeed(t *testing.T) {
	for name, mpi := range map[string]string{"openmpi": "openmpi", "openmpi5": "openmpi", "mpich": "mpich", "intel": "intel"} {
		t.Run(name, func(t *testing.T) {
			s := unpacked(t, name)
			s.check(t, mpi)
			if err := os.Remove(filepath.Join(s.dir, "usr/sbin/sshd")); err != nil {
				t.Fatal(err)
			}
			if out, err := s.checked(t, mpi); err == nil || !strings.Contains(out, "MISSING  sshd: install openssh-server\n") {
				t.Errorf("without sshd it ended with %v:\n%s", err, out)
			}
		})
	}
}

// check fails a test where the image lacks something.
func (s system) check(t *testing.T, mpi string) {
	t.Helper()
	out, err := s.checked(t, mpi)
	if err != nil || strings.Contains(out, "MISSING") || !strings.Contains(out, "ok       mpirun\n") {
		t.Errorf("ended with %v:\n%s", err, out)
	}
}

// checked runs the script as the documentation says, from standard input.
func (s system) checked(t *testing.T, mpi string) (string, error) {
	t.Helper()
	script, err := os.ReadFile(repo.Path(t, "examples/images/check-image.sh"))
	if err != nil {
		t.Fatal(err)
	}
	return s.run(string(script), "sh", "-s", "--", mpi)
}
