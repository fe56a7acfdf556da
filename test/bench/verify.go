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

// objectFiles is a glob that matches all files with objects in the kustomization of one environment of workload W. All
// these files are in the folder "namespaces", because each object of workload W belongs to the namespace of a tenant.
const objectFiles = "namespaces/*/*.yaml"

// hasObjects checks that the YAML streams in a folder contain the wanted number of objects.
func (b *bench) hasObjects(dir string, want int) error {
	found, err := countObjects(dir)
	if err == nil && found != want {
		err = fmt.Errorf("there are %d objects, want %d", found, want)
	}
	return err
}

// acmeObjects counts the objects of examples/acme in the bundle that is committed for this example.
func acmeObjects() (int, error) {
	root, err := repo.Root()
	if err != nil {
		return 0, err
	}
	return countObjects(filepath.Join(root, "bundles", "rendered", "acme", "plain"))
}

// countObjects counts the objects in a folder of YAML streams.
func countObjects(dir string) (found int, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "manifests.yaml" {
			return err
		}
		text, err := os.ReadFile(path)
		found += bytes.Count(text, []byte("\nkind: ")) // each object has exactly one unindented field "kind"
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("counting objects: %w", err)
	}
	return found, nil
}

// read is the method that loads the objects of the workload W (workload.W) from files. The parameter "pattern" is a
// function that returns a glob for the files of an environment.
func (b *bench) read(pattern func(environment string) string) (objectDigests, error) {
	found := objectDigests{}
	for e := range workload.W.Environments {
		name := workload.Environment(e)
		files, err := filepath.Glob(pattern(name))
		if err != nil {
			return nil, err
		}
		if err := b.parser.add(found, name, files...); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// matchesBundle checks that the files of a bundle contain exactly the objects of the workload W (workload.W).
func (b *bench) matchesBundle(dir, pattern string) error {
	found, err := b.read(func(environment string) string { return filepath.Join(dir, environment, pattern) })
	if err != nil {
		return err
	}
	return describeDifference(b.want, found)
}

// matchesOutput checks the output that a program other than trainyard wrote. The output must contain
// exactly the objects of workload W.
func (b *bench) matchesOutput(dir, pattern string) error {
	found, err := b.read(func(environment string) string { return b.path(dir, fmt.Sprintf(pattern, environment)) })
	if err != nil {
		return err
	}
	return describeDifference(b.want, found)
}

// verifyTenant checks that a file contains exactly the objects of the first tenant of workload W in the first environment.
func (b *bench) verifyTenant(file string) error {
	found, want := objectDigests{}, objectDigests{}
	if err := b.parser.add(found, workload.Environment(0), file); err != nil {
		return err
	}
	for id, digest := range b.want {
		if strings.HasPrefix(id, workload.Environment(0)+" ") && strings.Contains(id, " "+workload.Tenant(0)+"/") {
			want[id] = digest
		}
	}
	return describeDifference(want, found)
}

// verifyRevision checks that the change of one value in the document changed one object for each
// tenant.
func (b *bench) verifyRevision() error {
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
		return fmt.Errorf("got %d changed objects among %d objects, want %d changed objects among %d", changed, len(found), workload.W.Tenants, len(b.want))
	}
	return nil
}

// readWanted reads the objects of workload W from a bundle that trainyard wrote. The benchmarks compare the output of
// all programs with the objects that trainyard wrote for workload W.
func (b *bench) readWanted() error {
	found, err := b.read(func(environment string) string { return b.path("checked", environment, objectFiles) })
	if err != nil {
		return err
	}
	if len(found) != workload.W.Objects() {
		return fmt.Errorf("workload W has %d objects, want %d", len(found), workload.W.Objects())
	}
	b.want = maps.Clone(found)
	return nil
}
