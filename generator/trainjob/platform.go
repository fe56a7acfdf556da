package trainjob

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/generator/object"
	"github.com/trainyard/trainyard/generator/problem"
	"github.com/trainyard/trainyard/policies/guard"
)

// Platform is what TrainJobs are held against, in one environment.
type Platform struct {
	environment string
	tenants     map[string]terms
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
		return who + ": want a tenant that lists runtimes, and spec.admission.enforce other than none"
	}
	if meant := problem.Nearest(e.Tenant, e.Known); meant != "" && e.Tenant != "" {
		return fmt.Sprintf("%s: did you mean --tenant %s?", who, meant)
	}
	return fmt.Sprintf("%s: want --tenant, one of %s", who, strings.Join(e.Known, ", "))
}
