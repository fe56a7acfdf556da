package workload

import (
	"encoding/json"
	"fmt"

	jsonpatch "github.com/evanphx/json-patch/v5"
)

// Resolved returns the document of one environment as YAML. The document contains only the given number of tenants. The
// environment's patch is already merged into the document, because the other programs of the benchmarks do not support
// environments.
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

// merge applies a patch to a spec according to RFC 7386. trainyard merges the patch of an environment in the same way,
// but has different rules for lists whose items have names. In a workload, no environment changes a list whose items
// have names, so the function merge returns the same spec as trainyard.
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
