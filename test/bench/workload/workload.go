// Package workload generates platform documents of any size for benchmarks. The documents resemble real ones:
// they use every entry of the catalogue of runtimes, with mixed settings.
package workload

import (
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard/api/v1alpha1"
)

// Size is the size of a document. The schema allows at most 256 keys in a mapping, so a document has at most 256
// tenants and at most 256 environments. The schema allows at most 64 items in a list, so a tenant can list at most 64
// runtimes.
type Size struct {
	Runtimes     int // each runtime has scope: namespace, except in workload W2
	Tenants      int // each tenant lists all runtimes
	Environments int // each environment changes a few values
}

// W is the workload to which most speed targets apply. Workload W has 2,000 TrainingRuntimes.
var W = Size{Runtimes: 20, Tenants: 25, Environments: 4}

// Sizes returns the size of each workload except W2, keyed by the name of the workload.
func Sizes() map[string]Size {
	return map[string]Size{
		"W":    W,
		"W/10": {Runtimes: 20, Tenants: 10, Environments: 1},
		"W/5":  {Runtimes: 20, Tenants: 5, Environments: 4},
		"5W":   {Runtimes: 20, Tenants: 125, Environments: 4},

		// The following workloads have as many tenants as W, but fewer or more runtimes.
		"W/2-runtimes": {Runtimes: 10, Tenants: 25, Environments: 4},
		"3W-runtimes":  {Runtimes: 60, Tenants: 25, Environments: 4},
	}
}

// perTenant is the number of objects that each tenant has in addition to its runtimes: one ResourceQuota.
const perTenant = 1

// Objects returns the number of objects that trainyard generates from the document, in all
// environments together.
func (s Size) Objects() int { return s.OfTenant() * s.Tenants * s.Environments }

// OfTenant returns the number of objects of one tenant in one environment.
func (s Size) OfTenant() int { return s.Runtimes + perTenant }

// Environment returns the name of environment i, counted from 0.
func Environment(i int) string { return fmt.Sprintf("env-%02d", i) }

// Tenant returns the name of tenant i, counted from 0.
func Tenant(i int) string { return fmt.Sprintf("team-%03d", i) }

// Runtime returns the name of runtime i, counted from 0.
func Runtime(i int) string {
	return fmt.Sprintf("mpi-%s-%03d", catalogueNames[i%len(catalogueNames)], i)
}

// mapping is a YAML mapping in the document.
type mapping = map[string]any

// atMost returns settings that limit a TrainJob to the given number of nodes.
func atMost(nodes int) mapping { return mapping{"maxNodes": nodes} }

// Document returns the document as YAML. Revision 0 of the document is the workload without changes. Each later
// revision differs from revision 0 in one value: the image of one runtime in one environment.
func (s Size) Document(revision int) ([]byte, error) {
	spec := s.spec()
	if revision != 0 {
		last := spec.Environments[Environment(s.Environments-1)].Runtimes
		last[Runtime(0)]["image"] = fmt.Sprintf("registry.example.com/revision/openmpi:%d", revision)
	}
	return write(spec)
}

// write returns a document with the given spec, as YAML.
func write(spec any) ([]byte, error) {
	text, err := yaml.Marshal(mapping{
		"apiVersion": v1alpha1.APIVersion,
		"kind":       "Platform",
		"metadata":   mapping{"name": "workload"},
		"spec":       spec,
	})
	if err != nil {
		return nil, fmt.Errorf("writing a workload: %w", err)
	}
	return text, nil
}

// spec is the content of the field "spec" in a document. For an environment, a value of the type "spec" contains only
// the settings that the environment changes.
type spec struct {
	Target       mapping                  `json:"target,omitempty"`
	Ceilings     mapping                  `json:"ceilings"`
	Admission    mapping                  `json:"admission,omitempty"`
	Runtimes     map[string]mapping       `json:"runtimes"`
	Tenants      map[string]minimalTenant `json:"tenants"`
	Environments map[string]spec          `json:"environments,omitempty"`
}

// minimalTenant is a tenant with few settings. The benchmarks with workload W measure how fast trainyard generates
// TrainingRuntimes. Other objects would distort this measurement. Because a minimalTenant has few settings, trainyard
// generates few other objects for it. For example, each tenant has the isolation "none", so that trainyard generates no
// network policies.
type minimalTenant struct {
	Runtimes  []string `json:"runtimes"`
	Quota     mapping  `json:"quota,omitempty"` // a tenant without queues needs a quota
	Isolation string   `json:"isolation,omitempty"`
}

func (s Size) spec() spec {
	var names []string
	quota := mapping{"pods": 1000}
	whole := spec{
		Target:       mapping{"kubernetes": "1.33", "trainer": "2.3", "gang": "kueue", "kueue": "0.19"},
		Ceilings:     atMost(64),
		Admission:    mapping{"enforce": "none"}, // no admission policies, because the compared programs generate none
		Runtimes:     map[string]mapping{},
		Tenants:      map[string]minimalTenant{},
		Environments: map[string]spec{},
	}
	for i := range s.Runtimes {
		names = append(names, Runtime(i))
		whole.Runtimes[Runtime(i)] = runtimeSettings(i)
	}
	for i := range s.Tenants {
		whole.Tenants[Tenant(i)] = minimalTenant{names, quota, "none"}
	}
	// In spec.tenants, the first tenant lists only half of the runtimes. Each environment in spec.environments replaces
	// this list with a list of all runtimes.
	whole.Tenants[Tenant(0)] = minimalTenant{names[:(len(names)+1)/2], quota, "none"}
	for i := range s.Environments {
		whole.Environments[Environment(i)] = s.environmentChanges(i, names)
	}
	return whole
}

// environmentChanges returns the changes of environment i, such as another registry, smaller limits for some runtimes,
// and no node selector for others.
func (s Size) environmentChanges(i int, names []string) spec {
	runtimes := map[string]mapping{}
	for n := range s.Runtimes {
		changes := mapping{"image": imageName(Environment(i)+".example.com", n, i)}
		switch (n + i) % 7 {
		case 0:
			changes["limits"] = atMost(4 + i)
		case 1:
			changes["env"] = mapping{"CLUSTER": Environment(i)}
		case 2:
			if runtimeSettings(n)["nodeSelector"] != nil {
				changes["nodeSelector"] = nil
			}
		case 3:
			changes["numNodes"] = 2 + i
		}
		runtimes[Runtime(n)] = changes
	}
	return spec{Ceilings: atMost(32 + i), Runtimes: runtimes, Tenants: map[string]minimalTenant{Tenant(0): {Runtimes: names}}}
}
