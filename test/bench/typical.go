package bench

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/trainyard/trainyard/test/bench/workload"
)

// IDs of the cases that generate a single environment.
const (
	caseAcme             = "acme"
	caseAcmeKustomize    = "acme-kustomize"
	caseAcmeHelm         = "acme-helm"
	caseTypical          = "w2"
	caseTypicalKustomize = "w2-kustomize"
)

// typicalPath is the path of the document of workload W2.
func (b *bench) typicalPath() string { return b.path("documents", "typical.yaml") }

// writeTypical writes the document of workload W2, and the bundles that kustomize and Helm read.
func (b *bench) writeTypical() error {
	text, err := workload.Typical.TypicalDocument()
	if err != nil {
		return err
	}
	if err := b.write(b.typicalPath(), text); err != nil {
		return err
	}
	for _, command := range []Command{
		b.generateCommand("-f", b.typicalPath(), "--format", "kustomize", "-o", b.path("typical")),
		b.generateCommand("--example", "acme", "--format", "kustomize", "-o", b.path("acme-kustomize")),
		b.generateCommand("--example", "acme", "--format", "helm", "-o", b.path("acme-helm")),
	} {
		if err := b.run(command); err != nil {
			return err
		}
	}
	return nil
}

// typicalCases returns the cases for two inputs: one environment of examples/acme, and workload W2. kustomize and
// Helm read bundles that trainyard wrote before the measurement. All programs must print the same number of
// objects.
func (b *bench) typicalCases() ([]Case, error) {
	const environment = "dev"
	acme, err := countKinds(filepath.Join(b.path("acme-kustomize"), environment))
	if err != nil {
		return nil, err
	}
	typical, err := countKinds(b.path("typical"))
	if err != nil {
		return nil, err
	}
	helm := Command{
		Args:   []string{b.programs["helm"], "template", "acme", b.path("acme-helm", environment)},
		Output: b.path("output.yaml"),
	}
	return []Case{
		b.printed(caseAcme, "one environment of `examples/acme` to standard output", acme, b.generateCommand("--example", "acme", "--env", environment)),
		b.printed(caseAcmeKustomize, "`kustomize build` of one environment of `examples/acme`", acme, b.build(b.path("acme-kustomize", environment), b.path("output.yaml"))),
		b.printed(caseAcmeHelm, "`helm template` of one environment of `examples/acme`", acme, helm),
		b.printed(caseTypical, "W2 to standard output", typical, b.generateCommand("-f", b.typicalPath())),
		b.printed(caseTypicalKustomize, "`kustomize build` of W2", typical, b.build(b.path("typical"), b.path("output.yaml"))),
	}, nil
}

// printed creates a Case that runs a single command. The command must write objects to the file output.yaml. The
// function in the field "verify" checks that this file contains the given number of objects.
func (b *bench) printed(id, title string, objects int, command Command) Case {
	return Case{ID: id, Title: title, Objects: objects, commands: []Command{command}, verify: func() error {
		text, err := os.ReadFile(b.path("output.yaml"))
		if err != nil {
			return err
		}
		if found := countKindLines(text); found != objects {
			return fmt.Errorf("there are %d objects, want %d", found, objects)
		}
		return nil
	}}
}

// countKinds counts the objects of a kustomization that trainyard wrote.
func countKinds(dir string) (found int, err error) {
	err = filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".yaml" || entry.Name() == "kustomization.yaml" {
			return err
		}
		text, err := os.ReadFile(path)
		found += countKindLines(text)
		return err
	})
	return found, err
}

// countKindLines counts the lines with an unindented field "kind". Each object has exactly one line
// with an unindented field "kind".
func countKindLines(text []byte) int {
	return bytes.Count(append([]byte("\n"), text...), []byte("\nkind: "))
}
