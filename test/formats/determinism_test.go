package formats

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/bundles"
	"github.com/trainyard/trainyard/test/repo"
)

// TestSurroundingsDoNotMatter: the program writes the same bytes whatever the
// machine it runs on says about time, language, folders and processors.
func TestSurroundingsDoNotMatter(t *testing.T) {
	program := repo.Build(t, repo.Path(t))
	surroundings := map[string][]string{
		"at home":     {"TZ=UTC", "LANG=C", "GOMAXPROCS=1", "TMPDIR=" + t.TempDir(), "HOME=" + t.TempDir()},
		"far from it": {"TZ=Pacific/Kiritimati", "LANG=tr_TR.UTF-8", "LC_ALL=tr_TR.UTF-8", "GOMAXPROCS=8", "TMPDIR=" + t.TempDir(), "HOME=/nonexistent"},
	}
	for name, file := range examples(t) {
		for _, format := range bundles.Formats() {
			t.Run(name+"/"+format.Name(), func(t *testing.T) {
				want := readFolder(t, repo.Path(t, "bundles", "rendered", name, format.Name()))
				for where, environment := range surroundings {
					dir := filepath.Join(t.TempDir(), where)
					cmd := exec.Command(program, "generate", "-f", repo.Path(t, file), "--format", format.Name(), "-o", dir)
					cmd.Env = append(os.Environ(), environment...)
					run(t, cmd)
					if diff := cmp.Diff(want, readFolder(t, dir)); diff != "" {
						t.Errorf("%s: -committed +written:\n%s", where, diff)
					}
				}
			})
		}
	}
}
