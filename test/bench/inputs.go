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

// bench is one run: a folder of its own, and the programs that it measures.
type bench struct {
	dir      string            // goes when the run ends
	starter  string            // see measure
	programs map[string]string // paths of trainyard, kustomize and cue
	tell     func(format string, arguments ...any)
	want     objects // what W makes
	acme     int     // how many objects examples/acme makes
	reader   reader
	revision int // of the document that changes from run to run
	aside    int // how often a folder was put aside
}

func (b *bench) path(elements ...string) string {
	return filepath.Join(append([]string{b.dir}, elements...)...)
}

// write writes a file of the run, and the folders that it lies in.
func (b *bench) write(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

// document is the file of a workload.
func (b *bench) document(name string) string {
	return b.path("documents", strings.ReplaceAll(name, "/", "-")+".yaml")
}

// writeDocuments writes the documents of all workloads.
func (b *bench) writeDocuments() error {
	for name, size := range workload.Sizes() {
		text, err := size.Document(0)
		if err != nil {
			return err
		}
		if err := b.write(b.document(name), text); err != nil {
			return fmt.Errorf("writing %s: %w", name, err)
		}
	}
	return b.revise()
}

// revise writes the document that has another value each time.
func (b *bench) revise() error {
	b.revision++
	text, err := workload.W.Document(b.revision)
	if err != nil {
		return err
	}
	return b.write(b.document("revised"), text)
}

// putAside takes a folder out of the way, if there is one. Nothing is deleted before the end: for minutes
// after that, ext4 looks at each deleted inode whenever it needs a new one, which was half of
// what writing 2,500 files took.
func (b *bench) putAside(dir string) error {
	b.aside++
	err := os.Rename(dir, b.path(fmt.Sprintf("aside-%d", b.aside)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// run runs a command outside of any measurement.
func (b *bench) run(c Command) error {
	_, err := measure(b.starter, c)
	return err
}

// trainyard is a run of trainyard generate.
func (b *bench) trainyard(arguments ...string) Command {
	return Command{Args: append([]string{b.programs["trainyard"], "generate"}, arguments...), Output: b.path("output.yaml")}
}

// workload is a run of trainyard on a workload's document.
func (b *bench) workload(name string, arguments ...string) Command {
	return b.trainyard(append([]string{"-f", b.document(name)}, arguments...)...)
}

// inFormat is a run that writes all of a workload into a folder.
func (b *bench) inFormat(name, format, dir string, arguments ...string) Command {
	return b.workload(name, append([]string{"--format", format, "-o", dir}, arguments...)...)
}
