// Package plan decides which objects are generated from a document. For each object, a plan contains the builder, the
// input and the target namespaces.
package plan

import (
	"maps"
	"slices"

	"cuelang.org/go/cue"

	"github.com/trainyard/trainyard/generator/capacity"
	"github.com/trainyard/trainyard/generator/check"
	"github.com/trainyard/trainyard/generator/evaluate"
	"github.com/trainyard/trainyard/generator/internal/values"
	"github.com/trainyard/trainyard/generator/load"
	"github.com/trainyard/trainyard/generator/object"
	"github.com/trainyard/trainyard/generator/problem"
)

// The constants name the CUE packages that contain builders. A builder is CUE code that builds one type of object.
// A package of builders is loaded only for documents that need these builders.
const (
	runtimeObjects    = "generator/objects/runtime"
	queueObjects      = "generator/objects/queue"
	tenantObjects     = "generator/objects/tenant"
	sourceObjects     = "generator/objects/source"
	dashboardObjects  = "generator/objects/dashboard"
	monitoringObjects = "generator/objects/monitoring"
)

// noNamespace is the target namespace of a request whose object belongs to no tenant.
const noNamespace = ""

var requestsPath = cue.ParsePath("requests")

// Plan contains a request for each object that is generated from a document, and the settings that bundle formats
// need.
type Plan struct {
	Document *load.Document
	Name     string // the document's metadata.name
	Requests []Request
	Delivery object.Delivery
	Capacity *capacity.Result
	Notes    problem.List
}

// Request describes an object, which is generated once for each target namespace.
type Request struct {
	From       []string       // path of the document's section that requests the object
	Builder    Builder        // the CUE that builds the object
	CacheGroup string         // requests with the same group and builder can share shapes (templates of objects)
	Namespaces []string       // namespaces of the tenants that get the object, or noNamespace
	Input      map[string]any // the input of the builder
}

// Builder identifies the CUE code that builds objects of one kind.
type Builder struct {
	Package string // the folder of the package
	Name    string // the key in the field "builders" of the package
}

type planner struct {
	*check.Checked
	plan *Plan
}

// New returns the plan of a checked document. The argument "e" must be the evaluator that checked this document.
func New(e *evaluate.Evaluator, c *check.Checked) (*Plan, error) {
	name, _ := values.Mapping(c.Values, "metadata")["name"].(string)
	p := planner{c, &Plan{Document: c.Document, Name: name, Capacity: c.Capacity, Notes: c.Notes}}
	for _, add := range []func(*evaluate.Evaluator) error{p.addListed, p.addDashboards, p.addMonitoring, p.addTenants, p.readDelivery} {
		if err := add(e); err != nil {
			return nil, err
		}
	}
	return p.plan, nil
}

func (p *planner) add(r Request) { p.plan.Requests = append(p.plan.Requests, r) }

// addListed adds the requests from the field "requests" to the plan. The files requests.cue and queues.cue define this
// field.
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

func sortedKeys[T any](mapping map[string]T) []string { return slices.Sorted(maps.Keys(mapping)) }
