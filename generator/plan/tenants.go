package plan

import (
	"slices"

	"cuelang.org/go/cue"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/generator/evaluate"
	"github.com/trainyard/trainyard/generator/internal/values"
)

var (
	tenantsPath     = cue.ParsePath("tenants")
	sharedPath      = cue.ParsePath("shared")
	policiesPath    = cue.ParsePath("policies")
	localQueuesPath = cue.ParsePath("localQueues")
)

type policies struct {
	Tenants  map[string]policySettings `json:"tenants"`  // policies that build an object for each tenant
	Platform map[string]policySettings `json:"platform"` // policies that build one object for all tenants
}

// policySettings lists the keys of the tenant settings that a policy uses. A policy is CUE code that builds objects of
// tenants, such as network policies. The file policies/tenant/tenant.cue explains each list of keys.
type policySettings struct {
	OnSettings       []string `json:"onSettings"`
	OnSubjects       []string `json:"onSubjects"`
	OnPresence       []string `json:"onPresence"`
	OptionalSettings []string `json:"optionalSettings"`
	SharedSettings   []string `json:"sharedSettings"`
	ClusterWide      bool     `json:"clusterWide"`
}

func readPolicies(e *evaluate.Evaluator) (*policies, error) {
	all := evaluate.Local(e, func() *policies { return &policies{} })
	if all.Tenants != nil {
		return all, nil
	}
	builders, err := e.Package(tenantObjects)
	if err != nil {
		return nil, err
	}
	return all, evaluate.Decode(builders.LookupPath(policiesPath), all, "policies")
}

// tenantSettings holds the settings that policies can read. The file tenants.cue computes the fields "tenants" and
// "shared" from the document.
type tenantSettings struct {
	platform string
	tenants  map[string]map[string]any
	shared   map[string]any
}

func (p *planner) addTenants(e *evaluate.Evaluator) error {
	if len(values.Mapping(p.Values, "spec", "tenants")) == 0 {
		return nil
	}
	all, err := readPolicies(e)
	if err != nil {
		return err
	}
	settings := tenantSettings{platform: p.plan.Name}
	if err := evaluate.Decode(p.Filled.LookupPath(tenantsPath), &settings.tenants, "tenants"); err != nil {
		return err
	}
	if err := evaluate.Decode(p.Filled.LookupPath(sharedPath), &settings.shared, "settings that tenants share"); err != nil {
		return err
	}
	p.plan.Requests = append(p.plan.Requests, all.requests(settings)...)
	p.addSources()
	return p.addLocalQueues()
}

func (p *policies) requests(s tenantSettings) []Request {
	var requests []Request
	add := func(name, tenant string, policy policySettings, from ...string) {
		requests = append(requests, Request{
			From: from, Builder: Builder{tenantObjects, name}, CacheGroup: name, Namespaces: []string{tenant}, Input: policy.policyInput(s, tenant),
		})
	}
	for _, tenant := range sortedKeys(s.tenants) {
		for _, name := range sortedKeys(p.Tenants) {
			if policy := p.Tenants[name]; policy.appliesTo(s.tenants[tenant]) {
				add(name, tenant, policy, "spec", "tenants", tenant)
			}
		}
	}
	for _, name := range sortedKeys(p.Platform) {
		policy := p.Platform[name]
		if slices.ContainsFunc(sortedKeys(s.tenants), func(tenant string) bool { return policy.appliesTo(s.tenants[tenant]) }) {
			add(name, noNamespace, policy, "spec", "tenants")
		}
	}
	return requests
}

// appliesTo reports whether the policy builds an object for a tenant. The policy builds an object if the tenant's
// settings contain at least one key that the policy lists in OnSettings, OnSubjects or OnPresence.
func (p policySettings) appliesTo(settings map[string]any) bool {
	return slices.ContainsFunc(slices.Concat(p.OnSettings, p.OnSubjects, p.OnPresence), func(key string) bool {
		_, ok := settings[key]
		return ok
	})
}

// policyInput returns the input of the policy's builder for a tenant, with only the settings that the policy uses.
// Therefore tenants that differ only in other settings can share shapes.
func (p policySettings) policyInput(s tenantSettings, tenant string) map[string]any {
	settings := s.tenants[tenant]
	in := map[string]any{
		"platform": s.platform,
		"settings": values.Pick(settings, slices.Concat(p.OnSettings, p.OptionalSettings)),
		"subjects": p.subjects(settings),
		"shared":   values.Pick(s.shared, p.SharedSettings),
	}
	if p.ClusterWide {
		in["id"] = v1alpha1.TenantObjectName(tenant)
	}
	return in
}

var subjectKinds = []struct{ kind, key string }{{"Group", "groups"}, {"User", "users"}, {"ServiceAccount", "serviceAccounts"}}

func (p policySettings) subjects(settings map[string]any) []any {
	all := []any{}
	for _, key := range p.OnSubjects {
		given := values.Mapping(settings, key)
		for _, s := range subjectKinds {
			names, _ := given[s.key].([]any)
			for _, name := range names {
				all = append(all, map[string]any{"kind": s.kind, "name": name})
			}
		}
	}
	return all
}

// If Kueue admits jobs, addLocalQueues plans the LocalQueues of all tenants.
func (p *planner) addLocalQueues() error {
	var local struct {
		Enabled bool   `json:"enabled"`
		Version string `json:"version"`
	}
	if err := evaluate.Decode(p.Filled.LookupPath(localQueuesPath), &local, "settings of LocalQueues"); err != nil {
		return err
	}
	if !local.Enabled {
		return nil
	}
	tenants := values.Mapping(p.Values, "spec", "tenants")
	for _, tenant := range sortedKeys(tenants) {
		queues := values.Mapping(tenants, tenant, "queues")
		for _, name := range sortedKeys(queues) {
			p.add(Request{
				From: []string{"spec", "tenants", tenant}, Builder: Builder{queueObjects, "local-queue"}, CacheGroup: "local-queue", Namespaces: []string{tenant},
				Input: map[string]any{
					"platform": p.plan.Name, "name": name, "version": local.Version,
					"settings": map[string]any{"clusterQueue": queues[name]},
				},
			})
		}
	}
	return nil
}
