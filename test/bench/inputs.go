package bench

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/trainyard/trainyard/test/bench/workload"
)

// bench is one run of the benchmarks, with its own folder and the programs that it measures.
type bench struct {
	dir      string            // removed when the run ends
	starter  string            // the path of a program that calls Start, for the function "measure"
	programs map[string]string // paths of trainyard, kustomize, cue and helm
	progress func(format string, arguments ...any)
	want     objectDigests // the objects of workload W
	acme     int           // the number of objects of examples/acme
	parser   parser
	revision int // the revision of the last document that the method "revise" wrote
	aside    int // the number of folders that were moved aside
}

func (b *bench) path(elements ...string) string {
	return filepath.Join(append([]string{b.dir}, elements...)...)
}

// write writes a file of the run and creates its parent folders.
func (b *bench) write(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

// documentPath returns the path of a workload's document.
func (b *bench) documentPath(name string) string {
	return b.path("documents", strings.ReplaceAll(name, "/", "-")+".yaml")
}

// writeDocuments writes the documents of all workloads.
func (b *bench) writeDocuments() error {
	for name, size := range workload.Sizes() {
		text, err := size.Document(0)
		if err != nil {
			return err
		}
		if err := b.write(b.documentPath(name), text); err != nil {
			return fmt.Errorf("writing %s: %w", name, err)
		}
	}
	return b.revise()
}

// revise writes the next revision of the document of workload W. Each revision differs from the
// previous revision in one value.
func (b *bench) revise() error {
	b.revision++
	text, err := workload.W.Document(b.revision)
	if err != nil {
		return err
	}
	return b.write(b.documentPath("revised"), text)
}

// moveAside renames a folder, if it exists. moveAside does not delete the folder, because deletions make later writes
// slow. For some minutes after a deletion, ext4 examines the deleted inodes whenever it allocates a new inode. In one
// measurement, a run wrote 2,600 files. The examination of deleted inodes took half of the time for writing these
// files.
func (b *bench) moveAside(dir string) error {
	b.aside++
	err := os.Rename(dir, b.path(fmt.Sprintf("aside-%d", b.aside)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// run runs a command without measuring it.
func (b *bench) run(c Command) error {
	_, err := measure(b.starter, c)
	return err
}

// generateCommand returns a command that runs `trainyard generate`.
func (b *bench) generateCommand(arguments ...string) Command {
	return Command{Args: append([]string{b.programs["trainyard"], "generate"}, arguments...), Output: b.path("output.yaml")}
}

// workloadCommand returns a command that runs `trainyard generate` on a workload's document.
func (b *bench) workloadCommand(name string, arguments ...string) Command {
	return b.generateCommand(append([]string{"-f", b.documentPath(name)}, arguments...)...)
}

// inFormat returns a command that writes all objects of a workload into a folder. The argument "format" selects the
// format of the files.
func (b *bench) inFormat(name, format, dir string, arguments ...string) Command {
	return b.workloadCommand(name, append([]string{"--format", format, "-o", dir}, arguments...)...)
}
