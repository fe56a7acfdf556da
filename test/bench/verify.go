package bench

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/trainyard/trainyard/test/bench/workload"
	"github.com/trainyard/trainyard/test/repo"
)

// objectFiles are the objects of a kustomization that trainyard wrote.
const objectFiles = "namespaces/*/*.yaml"

// counts holds the number of objects in a folder of streams against what it
// should be.
func (b *bench) counts(dir string, want int) error {
	found, err := objectsIn(dir)
	if err == nil && found != want {
		err = fmt.Errorf("there are %d objects, want %d", found, want)
	}
	return err
}

// ofACME is how many objects examples/acme makes: those of its committed rendering.
func ofACME() (int, error) {
	root, err := repo.Root()
	if err != nil {
		return 0, err
	}
	return objectsIn(filepath.Join(root, "bundles", "rendered", "acme", "plain"))
}

// objectsIn counts the objects in a folder of streams.
func objectsIn(dir string) (found int, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "manifests.yaml" {
			return err
		}
		text, err := os.ReadFile(path)
		found += bytes.Count(text, []byte("\nkind: ")) // nothing else stands at the margin
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("counting objects: %w", err)
	}
	return found, nil
}

// read reads the objects of W from files, which a pattern finds in the folder of
// each environment.
func (b *bench) read(pattern func(environment string) string) (objects, error) {
	found := objects{}
	for e := range workload.W.Environments {
		name := workload.Environment(e)
		files, err := filepath.Glob(pattern(name))
		if err != nil {
			return nil, err
		}
		if err := b.reader.add(found, name, files...); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// holds compares the files of a bundle with what W makes.
func (b *bench) holds(dir, pattern string) error {
	found, err := b.read(func(environment string) string { return filepath.Join(dir, environment, pattern) })
	if err != nil {
		return err
	}
	return differs(b.want, found)
}

// built compares what another program wrote with what W makes.
func (b *bench) built(dir, pattern string) error {
	found, err := b.read(func(environment string) string { return b.path(dir, fmt.Sprintf(pattern, environment)) })
	if err != nil {
		return err
	}
	return differs(b.want, found)
}

// isTenant compares a file with what W makes for its first tenant in its first
// environment.
func (b *bench) isTenant(file string) error {
	found, want := objects{}, objects{}
	if err := b.reader.add(found, workload.Environment(0), file); err != nil {
		return err
	}
	for id, digest := range b.want {
		if strings.HasPrefix(id, workload.Environment(0)+" ") && strings.Contains(id, " "+workload.Tenant(0)+"/") {
			want[id] = digest
		}
	}
	return differs(want, found)
}

// isRevised makes sure that one value changed what it should, and nothing else.
func (b *bench) isRevised() error {
	found, err := b.read(func(environment string) string { return b.path("revised", environment, objectFiles) })
	if err != nil {
		return err
	}
	changed := 0
	for id, digest := range found {
		if b.want[id] != digest {
			changed++
		}
	}
	if changed != workload.W.Tenants || len(found) != len(b.want) {
		return fmt.Errorf("%d of %d objects changed, want %d of %d", changed, len(found), workload.W.Tenants, len(b.want))
	}
	return nil
}

// learn reads what W makes, against which everything is held.
func (b *bench) learn() error {
	found, err := b.read(func(environment string) string { return b.path("checked", environment, objectFiles) })
	if err != nil {
		return err
	}
	if len(found) != workload.W.Objects() {
		return fmt.Errorf("workload W makes %d objects, want %d", len(found), workload.W.Objects())
	}
	b.want = maps.Clone(found)
	return nil
}
