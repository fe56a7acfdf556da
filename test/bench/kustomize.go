package bench

import (
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/test/bench/workload"
)

// kustomizeCases returns the cases in which kustomize builds the objects of workload W. The cases differ in the layout
// of the files that kustomize reads. No build combines environments, because different environments have objects with
// the same kind, namespace and name. kustomize refuses a build with such duplicates.
func (b *bench) kustomizeCases() []Case {
	var flat, overlays []Command
	for e := range workload.W.Environments {
		name := workload.Environment(e)
		flat = append(flat, b.build(b.path("checked", name), b.path("flat", name+".yaml")))
		for t := range workload.W.Tenants {
			tenant := workload.Tenant(t)
			overlays = append(overlays, b.build(b.path("overlays", name, tenant), b.path("built", name, tenant+".yaml")))
		}
	}
	all := workload.W.Objects()
	return []Case{
		{
			ID: caseFlat, Title: fmt.Sprintf("`kustomize build` of W, %d builds of %d objects", len(flat), all/len(flat)), Objects: all,
			commands: flat,
			verify:   func() error { return b.matchesOutput("flat", "%s.yaml") },
		},
		{
			ID: caseOverlays, Title: fmt.Sprintf("`kustomize build` of W, %d overlays of %d objects", len(overlays), all/len(overlays)), Objects: all,
			commands: overlays,
			verify:   func() error { return b.matchesOutput("built", "%s/*.yaml") },
		},
	}
}

func (b *bench) build(dir, output string) Command {
	return Command{Args: []string{b.programs["kustomize"], "build", dir}, Output: output}
}

// kustomization contains only the fields of kustomization.yaml that the benchmarks use.
type kustomization struct {
	Namespace   string            `json:"namespace,omitempty"`
	Labels      []labels          `json:"labels,omitempty"`
	Resources   []string          `json:"resources"`
	SortOptions map[string]string `json:"sortOptions"`
}

type labels struct {
	Pairs map[string]string `json:"pairs"`
}

func (b *bench) writeKustomization(dir string, k kustomization) error {
	k.SortOptions = map[string]string{"order": "fifo"}
	text, err := yaml.Marshal(k)
	if err != nil {
		return err
	}
	return b.write(filepath.Join(dir, "kustomization.yaml"), text)
}

// writeOverlays writes kustomizations as a person would write them by hand: for each environment, a base with the
// objects of one tenant, and an overlay for each tenant. The objects are taken from the kustomizations that trainyard
// wrote.
func (b *bench) writeOverlays() error {
	for e := range workload.W.Environments {
		environment := workload.Environment(e)
		if err := b.writeBase(environment); err != nil {
			return fmt.Errorf("writing the base of environment %s: %w", environment, err)
		}
		for t := range workload.W.Tenants {
			tenant := workload.Tenant(t)
			err := b.writeKustomization(b.path("overlays", environment, tenant), kustomization{
				Namespace: tenant,
				Labels:    []labels{{map[string]string{v1alpha1.TenantLabel: tenant}}},
				Resources: []string{"../base"},
			})
			if err != nil {
				return fmt.Errorf("writing the overlay of tenant %s: %w", tenant, err)
			}
		}
		for _, dir := range []string{b.path("flat"), b.path("built", environment)} {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *bench) writeBase(environment string) error {
	base := b.path("overlays", environment, "base")
	files, err := filepath.Glob(b.path("checked", environment, "namespaces", workload.Tenant(0), "*.yaml"))
	if err != nil {
		return err
	}
	var names []string
	for _, file := range files {
		text, err := withoutTenant(file)
		if err != nil {
			return err
		}
		if err := b.write(filepath.Join(base, filepath.Base(file)), text); err != nil {
			return err
		}
		names = append(names, filepath.Base(file))
	}
	return b.writeKustomization(base, kustomization{Resources: names})
}

// withoutTenant reads an object from a file and removes the fields that depend on the tenant.
func withoutTenant(file string) ([]byte, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var o map[string]any
	if err := yaml.Unmarshal(text, &o); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	metadata := o["metadata"].(map[string]any)
	delete(metadata, "namespace")
	delete(metadata["labels"].(map[string]any), v1alpha1.TenantLabel)
	return yaml.Marshal(o)
}
