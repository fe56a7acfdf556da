package trainjob

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/generator/object"
	"github.com/trainyard/trainyard/generator/problem"
	"github.com/trainyard/trainyard/policies/guard"
)

// Platform is what TrainJobs are held against, in one environment.
type Platform struct {
	environment string
	tenants     map[string]terms
	lenient     bool // nothing in the cluster holds anybody to the rules
}

// Platforms generates what a document asks for, and reads the rules of each environment: also of
// those where spec.admission.enforce is none, so that the cluster has no rules.
func Platforms(ctx context.Context, p *generator.Pipeline, r generator.Request) ([]Platform, error) {
	generated, err := p.Generate(ctx, r)
	if err != nil {
		return nil, err
	}
	return Judging(ctx, p, r, generated)
}

// Judging is Platforms for what has been generated already.
func Judging(ctx context.Context, p *generator.Pipeline, r generator.Request, generated []generator.Platform) ([]Platform, error) {
	all, err := read(generated)
	if err != nil || !slices.ContainsFunc(all, Platform.silent) {
		return all, err
	}
	judging := r
	judging.Layers = append(slices.Clone(r.Layers), enforcing(all))
	again, err := p.Generate(ctx, judging)
	if err != nil {
		return nil, fmt.Errorf("asking for rules where none are enforced: %w", err)
	}
	judged, err := read(again)
	if err != nil {
		return nil, err
	}
	for i := range judged {
		judged[i].lenient = all[i].silent()
	}
	return judged, nil
}

// Lenient tells whether there is a platform where nothing holds anybody to its rules.
func Lenient(platforms []Platform) bool {
	return slices.ContainsFunc(platforms, func(p Platform) bool { return p.lenient })
}

func read(generated []generator.Platform) ([]Platform, error) {
	all := make([]Platform, len(generated))
	for i, g := range generated {
		var err error
		if all[i], err = NewPlatform(g.Environment, g.Objects); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// silent tells whether there are no rules for anybody.
func (p Platform) silent() bool { return len(p.tenants) == 0 }

// enforcing is a layer that asks for rules where platforms have none.
func enforcing(platforms []Platform) generator.Input {
	rules := map[string]any{"enforce": "audit"}
	spec, environments := map[string]any{}, map[string]any{}
	for _, p := range platforms {
		switch {
		case !p.silent():
		case p.environment == "":
			spec["admission"] = rules
		default:
			environments[p.environment] = map[string]any{"admission": rules}
		}
	}
	if len(environments) > 0 {
		spec["environments"] = environments
	}
	text, _ := json.Marshal(map[string]any{"spec": spec}) // plain data always marshals
	return generator.Input{Name: "enforce.json", Text: text}
}

// terms are what holds for one tenant.
type terms struct {
	guard.Parameters
	reader guard.Reader
}

// Where policies/admission has the parameters of tenants.
const (
	parameterNamespace = "trainyard-system"
	tenantLabel        = "trainyard.dev/tenant"
)

// NewPlatform reads the rules of all tenants among the objects of a platform.
func NewPlatform(environment string, objects object.Set) (Platform, error) {
	p := Platform{environment: environment, tenants: map[string]terms{}}
	for o := range objects.All() {
		tenant := o.Label(tenantLabel)
		if id := o.ID(); id.Kind != "ConfigMap" || id.Namespace != parameterNamespace || tenant == "" {
			continue
		}
		parameters, reader, err := guard.Find([]map[string]any{o.Fields()}, tenant)
		if err != nil {
			return p, fmt.Errorf("reading the rules of %s: %w", tenant, err)
		}
		p.tenants[tenant] = terms{parameters, reader}
	}
	return p, nil
}

// tenantsOf are those that have rules on any platform.
func tenantsOf(platforms []Platform) []string {
	known := map[string]bool{}
	for _, p := range platforms {
		for name := range p.tenants {
			known[name] = true
		}
	}
	return slices.Sorted(maps.Keys(known))
}

// TenantError says that there are no rules for a TrainJob.
type TenantError struct {
	Tenant      string   // whose; empty where nobody says it
	Environment string   // empty where there are none
	Known       []string // who has rules
}

// Error says what to write instead.
func (e *TenantError) Error() string {
	who := "a TrainJob names no namespace"
	if e.Tenant != "" {
		who = "namespace " + problem.Quote(e.Tenant) + " has no rules for TrainJobs"
	}
	if e.Environment != "" {
		who += " in environment " + e.Environment
	}
	if len(e.Known) == 0 {
		return who + ": want a document with tenants"
	}
	if meant := problem.Nearest(e.Tenant, e.Known); meant != "" && e.Tenant != "" {
		return fmt.Sprintf("%s: did you mean --tenant %s?", who, meant)
	}
	return fmt.Sprintf("%s: want --tenant, one of %s", who, strings.Join(e.Known, ", "))
}
