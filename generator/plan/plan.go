// Package plan decides which objects a checked document becomes: which builder makes each object, of which input,
// and in which namespaces.
package plan

import (
	"maps"
	"slices"

	"cuelang.org/go/cue"

	"github.com/trainyard/trainyard/generator/check"
	"github.com/trainyard/trainyard/generator/evaluate"
	"github.com/trainyard/trainyard/generator/internal/values"
	"github.com/trainyard/trainyard/generator/load"
	"github.com/trainyard/trainyard/generator/object"
	"github.com/trainyard/trainyard/generator/problem"
)

// The packages of builders. A package is loaded for documents that need it.
const (
	runtimeObjects    = "generator/objects/runtime"
	queueObjects      = "generator/objects/queue"
	tenantObjects     = "generator/objects/tenant"
	dashboardObjects  = "generator/objects/dashboard"
	monitoringObjects = "generator/objects/monitoring"
)

// noNamespace is the target namespace of requests for one object that belongs to no tenant.
const noNamespace = ""

var requestsPath = cue.ParsePath("requests")

// Plan lists the objects of a document.
type Plan struct {
	Document *load.Document
	Name     string // the document's metadata.name
	Requests []Request
	Delivery object.Delivery
	Notes    problem.List
}

// Request asks for an object in each of its target namespaces.
type Request struct {
	From       []string       // the section of the document that asks for it
	Builder    Builder        // the CUE that builds it
	CacheGroup string         // requests of one group and builder can share shapes
	Namespaces []string       // tenants that get the object, or noNamespace
	Input      map[string]any // of the builder
}

// Builder names CUE that builds objects.
type Builder struct {
	Package string // its folder
	Name    string // its key in the package's builders
}

// planner plans the objects of one document.
type planner struct {
	*check.Checked
	plan *Plan
}

// New plans the objects of a document. The evaluator is the one that checked it.
func New(e *evaluate.Evaluator, c *check.Checked) (*Plan, error) {
	name, _ := values.Mapping(c.Values, "metadata")["name"].(string)
	p := planner{c, &Plan{Document: c.Document, Name: name, Notes: c.Notes}}
	for _, add := range []func(*evaluate.Evaluator) error{p.addListed, p.addDashboards, p.addMonitoring, p.addTenants, p.readDelivery} {
		if err := add(e); err != nil {
			return nil, err
		}
	}
	return p.plan, nil
}

// add adds a request.
func (p *planner) add(r Request) { p.plan.Requests = append(p.plan.Requests, r) }

// addListed adds the requests of requests.cue and queues.cue.
func (p *planner) addListed(*evaluate.Evaluator) error {
	for entries := evaluate.Fields(p.Filled.LookupPath(requestsPath)); entries.Next(); {
		var r struct {
			From       []string       `json:"from"`
			Package    string         `json:"package"`
			Builder    string         `json:"builder"`
			CacheGroup string         `json:"cacheGroup"`
			PerTenant  bool           `json:"perTenant"`
			Input      map[string]any `json:"input"`
		}
		if err := evaluate.Decode(entries.Value(), &r, "request "+entries.Selector().Unquoted()); err != nil {
			return err
		}
		namespaces := []string{noNamespace}
		if r.PerTenant {
			namespaces = p.Listed[r.From[len(r.From)-1]]
		}
		p.add(Request{From: r.From, Builder: Builder{r.Package, r.Builder}, CacheGroup: r.CacheGroup, Namespaces: namespaces, Input: r.Input})
	}
	return nil
}

// sortedKeys returns the keys of a mapping in order.
func sortedKeys[T any](mapping map[string]T) []string { return slices.Sorted(maps.Keys(mapping)) }
