package generator

import (
	"maps"
	"slices"

	"github.com/trainyard/trainyard/generator/problem"
)

// Bounds are the rules of a document that hold between several of its values, or between a value and what
// cannot be changed: a chart's values are to keep them, too. They are about fields that are parameters of
// objects; what depends on queues, which choose between flavors, is not among them.
type Bounds struct {
	Sums   []Sum   `json:"sums,omitempty"`
	Bounds []Bound `json:"bounds,omitempty"`
}

// Sum is what something asks for.
type Sum struct {
	Key string   `json:"key"` // of the part of the document that it belongs to, such as spec.runtimes.mpi
	Who string   `json:"who"` // asks for it, such as: the smallest TrainJob of mpi, a launcher and a node,
	Of  []Amount `json:"of"`
}

// Bound is a value that none of some sums exceeds.
type Bound struct {
	Amount
	Sums []int `json:"sums"` // by their place in Bounds.Sums
}

// Amount is a value of the document.
type Amount struct {
	Key   string `json:"key,omitempty"` // of the field, as parameters have it; empty for what no field says
	Value any    `json:"value"`         // number, or quantity of Kubernetes
}

// add notes a sum of a runtime, and returns its place.
func (b *Bounds) add(runtime []string, who string, of ...Amount) int {
	b.Sums = append(b.Sums, Sum{problem.Path(runtime), who, of})
	return len(b.Sums) - 1
}

// bounds are those of the rules "defaults respect the limits", "one process beside several GPUs is the
// TrainJob's to say" and "the smallest TrainJob fits the quota".
func (f *fitting) bounds() Bounds {
	var b Bounds
	asks := map[string]map[string][]int{} // sums by runtime and resource
	for _, name := range slices.Sorted(maps.Keys(f.demands)) {
		d, runtime := f.demands[name], []string{"spec", "runtimes", name}
		processes := Amount{problem.Path(extend(runtime, "numProcPerNode")), d.Processes.Now}
		b.Bounds = append(b.Bounds, Bound{Amount{Value: d.Processes.Most}, []int{b.add(runtime, "numProcPerNode of "+name, processes)}})
		if d.Processes.Least > 1 {
			b.Bounds = append(b.Bounds, Bound{processes, []int{b.add(runtime, "the GPUs of "+name, Amount{Value: d.Processes.Least})}})
		}
		asks[name] = d.asks(&b, name, runtime)
	}
	tenants := mappingAt(f.sound, "spec", "tenants")
	for _, name := range slices.Sorted(maps.Keys(tenants)) {
		b.Bounds = append(b.Bounds, ofTenant(name, mappingAt(tenants, name), asks)...)
	}
	return b
}

// asks notes what the pods of a runtime's smallest TrainJob ask for that run at the same time, by resource.
func (d demand) asks(b *Bounds, name string, runtime []string) map[string][]int {
	sums := map[string][]int{}
	for _, resource := range slices.Sorted(maps.Keys(d.Launcher)) {
		shared := slices.Concat(runtime, []string{"resources", resource})
		own := shared
		if slices.Contains(d.Own, resource) {
			own = slices.Concat(runtime, []string{"launcher", "resources", resource})
		}
		of := []Amount{{problem.Path(own), d.Launcher[resource]}}
		if node, asks := d.Node[resource]; asks {
			of = append(of, Amount{problem.Path(shared), node})
		}
		sums[resource] = append(sums[resource], b.add(runtime, "the smallest TrainJob of "+name+", a launcher and a node,", of...))
	}
	for _, before := range d.Before {
		for _, resource := range slices.Sorted(maps.Keys(before.Amounts)) {
			sums[resource] = append(sums[resource], b.add(runtime, "the "+before.Name+" of "+name, Amount{Value: before.Amounts[resource]}))
		}
	}
	return sums
}

// ofTenant are the bounds of a tenant's quota.
func ofTenant(name string, tenant map[string]any, asks map[string]map[string][]int) []Bound {
	var bounds []Bound
	quota := mappingAt(tenant, "quota")
	runtimes, _ := tenant["runtimes"].([]any)
	for _, resource := range slices.Sorted(maps.Keys(quota)) {
		var sums []int
		for _, runtime := range runtimes {
			key, _ := runtime.(string)
			sums = append(sums, asks[key][resource]...)
		}
		if len(sums) > 0 {
			bounds = append(bounds, Bound{Amount{problem.Path([]string{"spec", "tenants", name, "quota", resource}), quota[resource]}, sums})
		}
	}
	return bounds
}
