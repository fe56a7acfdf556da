package workload

import (
	"encoding/json"
	"fmt"

	jsonpatch "github.com/evanphx/json-patch/v5"
)

// Resolved writes the document of one environment, without environments and for
// the first tenants only, as YAML. It is what trainyard makes of layers for itself,
// and what programs without layers have to be given.
func (s Size) Resolved(environment, tenants int) ([]byte, error) {
	whole := s.spec()
	patch := whole.Environments[Environment(environment)]
	whole.Environments = nil
	resolved, err := merge(whole, patch)
	if err != nil {
		return nil, fmt.Errorf("laying %s over the workload: %w", Environment(environment), err)
	}
	for i := tenants; i < s.Tenants; i++ {
		delete(resolved.Tenants, Tenant(i))
	}
	return write(resolved)
}

// merge lays a patch over a spec by RFC 7386, which is how layers merge but for
// lists of mappings with names. Workloads patch none of those.
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
