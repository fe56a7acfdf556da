package trainjob

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/api/message"
	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/generator/capacity"
	"github.com/trainyard/trainyard/generator/object"
	"github.com/trainyard/trainyard/policies/guard"
)

// Platform holds the rules for TrainJobs in one environment.
type Platform struct {
	environment string
	tenants     map[string]tenantRules
	capacity    *capacity.Result // nil if the platform was read from a cluster
	unenforced  bool             // whether the cluster has no rules, because spec.admission.enforce is none

	runtimes map[string]runtimeObject // by name
}

type tenantRules struct {
	guard.Parameters
	reader guard.Reader
}

// Platforms generates the objects of a document, and returns the rules of each environment (see WithRules).
func Platforms(ctx context.Context, p *generator.Pipeline, r generator.Request) ([]Platform, error) {
	generated, err := p.Generate(ctx, r)
	if err != nil {
		return nil, err
	}
	return WithRules(ctx, p, r, generated)
}

// WithRules reads the rules of each generated platform. If the field spec.admission.enforce has the value "none", the
// generated platform contains no rules. For such a platform, WithRules generates the rules as if the field had the
// value "audit".
func WithRules(ctx context.Context, p *generator.Pipeline, r generator.Request, generated []generator.Platform) ([]Platform, error) {
	platforms, err := readAll(generated)
	if err != nil || !slices.ContainsFunc(platforms, Platform.hasNoRules) {
		return platforms, err
	}
	r.Layers = append(slices.Clone(r.Layers), auditLayer(platforms))
	generated, err = p.Generate(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("generating the admission rules with spec.admission.enforce set to audit instead of none: %w", err)
	}
	audited, err := readAll(generated)
	if err != nil {
		return nil, err
	}
	for i := range audited {
		audited[i].unenforced = platforms[i].hasNoRules() && !audited[i].hasNoRules() // without tenants, there are no rules
	}
	return audited, nil
}

// AnyUnenforced reports whether at least one platform does not enforce its rules.
func AnyUnenforced(platforms []Platform) bool {
	return slices.ContainsFunc(platforms, func(p Platform) bool { return p.unenforced })
}

func readAll(generated []generator.Platform) ([]Platform, error) {
	platforms := make([]Platform, len(generated))
	for i, g := range generated {
		var err error
		if platforms[i], err = NewPlatform(g.Environment, g.Objects); err != nil {
			return nil, err
		}
		platforms[i].capacity = g.Capacity
	}
	return platforms, nil
}

func (p Platform) hasNoRules() bool { return len(p.tenants) == 0 }

// auditLayer returns a single layer, which changes all platforms that have no rules. For these platforms, the layer
// sets the field spec.admission.enforce to "audit". With this layer, trainyard also generates rules for these
// platforms, if they have tenants.
func auditLayer(platforms []Platform) generator.Input {
	admission := map[string]any{"enforce": "audit"}
	spec, environments := map[string]any{}, map[string]any{}
	for _, p := range platforms {
		switch {
		case !p.hasNoRules():
		case p.environment == "":
			spec["admission"] = admission
		default:
			environments[p.environment] = map[string]any{"admission": admission}
		}
	}
	if len(environments) > 0 {
		spec["environments"] = environments
	}
	text, _ := json.Marshal(map[string]any{"spec": spec}) // plain data always marshals
	return generator.Input{Name: "enforce.json", Text: text}
}

// The namespace and the label of the ConfigMaps that contain the parameters of tenants. policies/admission generates
// these ConfigMaps.
const (
	parameterNamespace = v1alpha1.SystemNamespace
	tenantLabel        = v1alpha1.TenantLabel
)

// NewPlatform reads the rules of all tenants from the objects of a platform.
func NewPlatform(environment string, objects object.Set) (Platform, error) {
	p := Platform{environment: environment, tenants: map[string]tenantRules{}, runtimes: map[string]runtimeObject{}}
	for o := range objects.All() {
		if runtime, ok := readRuntime(o); ok {
			p.runtimes[o.ID().Name] = runtime
		}
		tenant := o.Label(tenantLabel)
		if id := o.ID(); id.Kind != "ConfigMap" || id.Namespace != parameterNamespace || tenant == "" {
			continue
		}
		parameters, reader, err := guard.FindParameters([]map[string]any{o.Fields()}, tenant)
		if err != nil {
			return p, fmt.Errorf("reading the rules of %s: %w", tenant, err)
		}
		p.tenants[tenant] = tenantRules{parameters, reader}
	}
	return p, nil
}

// listTenants returns the tenants that have rules on at least one platform.
func listTenants(platforms []Platform) []string {
	known := map[string]bool{}
	for _, p := range platforms {
		for name := range p.tenants {
			known[name] = true
		}
	}
	return slices.Sorted(maps.Keys(known))
}

// environmentOf returns the name of the environment if there is only one platform, and "" otherwise.
func environmentOf(platforms []Platform) string {
	if len(platforms) == 1 {
		return platforms[0].environment
	}
	return ""
}

// TenantError reports that the TrainJobs of a file have no tenant, or that the requested tenant has no rules.
type TenantError struct {
	Tenant      string   // empty if neither the TrainJob nor the user names a tenant
	Environment string   // empty if the document has no environments, or if all environments are checked
	Known       []string // tenants with rules
}

// Error describes the error, and suggests a tenant.
func (e *TenantError) Error() string {
	text := "a TrainJob names no namespace"
	if e.Tenant != "" {
		text = describeNoRules(e.Tenant, e.Environment)
	}
	if len(e.Known) == 0 {
		return text + ": want a document with tenants"
	}
	if similar := message.Similar(e.Tenant, e.Known); len(similar) > 0 && e.Tenant != "" {
		return fmt.Sprintf("%s: did you mean --tenant %s?", text, strings.Join(similar, " or "))
	}
	return fmt.Sprintf("%s: want --tenant, one of %s", text, strings.Join(e.Known, ", "))
}

// describeNoRules returns the message for a namespace that is not a tenant and therefore has no rules.
func describeNoRules(namespace, environment string) string {
	text := "namespace " + message.Quote(namespace) + " has no rules for TrainJobs"
	if environment != "" {
		text += " in environment " + environment
	}
	return text
}
