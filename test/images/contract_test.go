//go:build linux

package images

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trainyard/trainyard/test/repo"
)

func TestImagesPassCheckImage(t *testing.T) {
	for name, mpi := range map[string]string{"openmpi": "openmpi", "openmpi5": "openmpi", "mpich": "mpich", "intel": "intel"} {
		t.Run(name, func(t *testing.T) {
			s := unpackImage(t, name)
			s.check(t, mpi)
			if err := os.Remove(filepath.Join(s.dir, "usr/sbin/sshd")); err != nil {
				t.Fatal(err)
			}
			if out, err := s.checkImage(t, mpi); err == nil || !strings.Contains(out, "MISSING  sshd: install openssh-server\n") {
				t.Errorf("without sshd the script ended with %v, want sshd reported:\n%s", err, out)
			}
		})
	}
}

func (s system) check(t *testing.T, mpi string) {
	t.Helper()
	out, err := s.checkImage(t, mpi)
	if err != nil || strings.Contains(out, "MISSING") || !strings.Contains(out, "ok       mpirun\n") {
		t.Errorf("the script ended with %v, want all checks ok:\n%s", err, out)
	}
}

// checkImage passes check-image.sh to a shell through standard input, as the documentation
// recommends.
func (s system) checkImage(t *testing.T, mpi string) (string, error) {
	t.Helper()
	script, err := os.ReadFile(repo.Path(t, "examples/images/check-image.sh"))
	if err != nil {
		t.Fatal(err)
	}
	return s.run(string(script), "sh", "-s", "--", mpi)
}
