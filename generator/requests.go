package generator

import (
	"maps"
	"slices"

	"cuelang.org/go/cue"
)

var (
	requestsPath = cue.ParsePath("requests")
	policiesPath = cue.ParsePath("policies")
	tenantsPath  = cue.ParsePath("tenants")
	sharedPath   = cue.ParsePath("shared")

	inPath         = cue.ParsePath("in")
	objectPath     = cue.ParsePath("object")
	definitionPath = cue.ParsePath("definition")
)

// request is for an object, or for one for each home: an entry of requests in compose.cue, or
// what a policy makes of a tenant (generator/teams).
type request struct {
	From   []string       `json:"from"`
	Make   string         `json:"make"`
	Kin    string         `json:"kin"`
	Listed bool           `json:"listed"`
	In     map[string]any `json:"in"`

	by    string   // the package that its maker is in
	homes []string // the tenants that the object is made for; "" is the whole cluster
}

// requestsOf reads what a document asks for, once it is filled in.
func (w *work) requestsOf(on *engine, filled cue.Value) ([]request, error) {
	var requests []request
	by := listed(w.sound)
	for entries := fieldsOf(filled.LookupPath(requestsPath)); entries.Next(); {
		var r request
		if err := decode(entries.Value(), &r); err != nil {
			return nil, bug("reading request "+entries.Selector().Unquoted(), err)
		}
		r.by, r.homes = makersPackage, []string{""}
		if r.Listed {
			r.homes = by[r.From[len(r.From)-1]]
		}
		requests = append(requests, r)
	}
	boards, err := w.dashboards(on)
	if err != nil {
		return nil, err
	}
	requests = slices.Concat(requests, boards, w.watching())
	if len(mappingAt(w.sound, "spec", "tenants")) == 0 {
		return requests, nil
	}
	all, err := on.policies()
	if err != nil {
		return nil, err
	}
	teams, err := w.teams(filled)
	if err != nil {
		return nil, err
	}
	queues, err := w.localQueues(filled)
	return slices.Concat(requests, all.requests(teams), queues), err
}

// teams are the tenants of a document, as policies see them.
type teams struct {
	platform string // the document's metadata.name
	tenants  map[string]map[string]any
	shared   map[string]any
}

func (w *work) teams(filled cue.Value) (t teams, err error) {
	t.platform, _ = mappingAt(w.sound, "metadata")["name"].(string)
	if err := decode(filled.LookupPath(tenantsPath), &t.tenants); err != nil {
		return t, bug("reading tenants", err)
	}
	if err := decode(filled.LookupPath(sharedPath), &t.shared); err != nil {
		return t, bug("reading what tenants share", err)
	}
	return t, nil
}

// decode reads plain data.
func decode(v cue.Value, into any) error {
	if err := v.Validate(cue.Concrete(true)); err != nil {
		return err
	}
	return v.Decode(into)
}

// policies are all that make objects about tenants, by name.
type policies struct {
	Tenants  map[string]policy `json:"tenants"`  // make one for each
	Platform map[string]policy `json:"platform"` // make one for all
}

// policy is what a policy asks for (policies/tenant/tenant.cue).
type policy struct {
	LooksAt     []string `json:"looksAt"`
	Binds       []string `json:"binds"`
	Wants       []string `json:"wants"`
	Reads       []string `json:"reads"`
	Shares      []string `json:"shares"`
	ClusterWide bool     `json:"clusterWide"`
}

// policies reads them, once for all documents.
func (e *engine) policies() (*policies, error) {
	if e.about == nil {
		var all policies
		teams, err := e.built(teamsPackage)
		if err != nil {
			return nil, err
		}
		if err := decode(teams.LookupPath(policiesPath), &all); err != nil {
			return nil, bug("reading policies", err)
		}
		e.about = &all
	}
	return e.about, nil
}

// requests are for what the policies make of some tenants.
func (p *policies) requests(of teams) []request {
	var requests []request
	for _, tenant := range slices.Sorted(maps.Keys(of.tenants)) {
		for _, name := range slices.Sorted(maps.Keys(p.Tenants)) {
			if policy := p.Tenants[name]; policy.concerns(of.tenants[tenant]) {
				requests = append(requests, request{
					From: []string{"spec", "tenants", tenant}, Make: name, Kin: name, by: teamsPackage, homes: []string{tenant},
					In: policy.input(of, tenant),
				})
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Platform)) {
		policy := p.Platform[name]
		for _, settings := range of.tenants {
			if policy.concerns(settings) {
				in := policy.input(of, "")
				requests = append(requests, request{
					From: []string{"spec", "tenants"}, Make: name, Kin: name, by: teamsPackage, homes: []string{""}, In: in,
				})
				break
			}
		}
	}
	return requests
}

// concerns reports whether a tenant has what the policy is about.
func (p policy) concerns(settings map[string]any) bool {
	for _, key := range slices.Concat(p.LooksAt, p.Binds, p.Wants) {
		if _, has := settings[key]; has {
			return true
		}
	}
	return false
}

// input is what the policy gets to see of a tenant, or of none: no more than it asks for, so that
// what it makes of different tenants can be alike.
func (p policy) input(of teams, tenant string) map[string]any {
	settings := of.tenants[tenant]
	in := map[string]any{
		"platform": of.platform,
		"settings": those(settings, slices.Concat(p.LooksAt, p.Reads)),
		"subjects": p.subjects(settings),
		"shared":   those(of.shared, p.Shares),
	}
	if p.ClusterWide {
		in["id"] = "trainyard-" + tenant
	}
	return in
}

func those(values map[string]any, keys []string) map[string]any {
	some := map[string]any{}
	for _, key := range keys {
		if value, has := values[key]; has {
			some[key] = value
		}
	}
	return some
}

// subjectKinds are the kinds of subjects, and where the document has them.
var subjectKinds = []struct{ kind, key string }{{"Group", "groups"}, {"User", "users"}, {"ServiceAccount", "serviceAccounts"}}

// subjects are whom the policy binds.
func (p policy) subjects(settings map[string]any) []any {
	all := []any{}
	for _, key := range p.Binds {
		given := mappingAt(settings, key)
		for _, s := range subjectKinds {
			names, _ := given[s.key].([]any)
			for _, name := range names {
				all = append(all, map[string]any{"kind": s.kind, "name": name})
			}
		}
	}
	return all
}
