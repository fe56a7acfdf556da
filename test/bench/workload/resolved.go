package workload

import (
	"encoding/json"
	"fmt"

	jsonpatch "github.com/evanphx/json-patch/v5"
)

// Resolved returns the document of one environment as YAML, without environments and with the first tenants
// only. It is for programs without layers; trainyard computes it from layers internally.
func (s Size) Resolved(environment, tenants int) ([]byte, error) {
	whole := s.spec()
	patch := whole.Environments[Environment(environment)]
	whole.Environments = nil
	resolved, err := merge(whole, patch)
	if err != nil {
		return nil, fmt.Errorf("merging %s into the workload: %w", Environment(environment), err)
	}
	for i := tenants; i < s.Tenants; i++ {
		delete(resolved.Tenants, Tenant(i))
	}
	return write(resolved)
}

// merge merges a patch into a spec by RFC 7386. Layers merge in the same way, except for lists of mappings
// with names, which workloads do not change.
func merge(below, patch spec) (spec, error) {
	a, err := json.Marshal(below)
	if err != nil {
		return spec{}, err
	}
	b, err := json.Marshal(patch)
	if err != nil {
		return spec{}, err
	}
	text, err := jsonpatch.MergePatch(a, b)
	if err != nil {
		return spec{}, err
	}
	var merged spec
	err = json.Unmarshal(text, &merged)
	return merged, err
}
