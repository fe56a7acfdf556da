package plan

import (
	"strings"

	"cuelang.org/go/cue"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/trainyard/trainyard/generator/evaluate"
	"github.com/trainyard/trainyard/generator/internal/values"
	"github.com/trainyard/trainyard/generator/object"
	"github.com/trainyard/trainyard/generator/problem"
)

// argocdPackage is the CUE package that lists the kinds that Argo CD can apply, and the objects that give
// Argo CD its rights.
const argocdPackage = "policies/argocd"

// readDelivery reads the settings that bundle formats need. If the document sets target.argocd or delivery.argocd,
// readDelivery also sets the field "argocd" in the input of every request. The builders then add annotations for Argo
// CD to the objects.
func (p *planner) readDelivery(e *evaluate.Evaluator) error {
	spec := values.Mapping(p.Values, "spec")
	d := &p.plan.Delivery
	if err := convert(values.Mapping(spec, "delivery"), d); err != nil {
		return err
	}
	if err := convert(values.Mapping(spec, "target"), &d.Target); err != nil {
		return err
	}
	d.Controller, _ = values.Mapping(spec, "controller")["enabled"].(bool)
	d.Annotations = imageAnnotations(values.Mapping(p.Values, "metadata", "annotations"))
	d.Bounds = p.Capacity.Bounds
	if _, set := values.Mapping(spec, "target")["argocd"]; set || d.ArgoCD != nil {
		for _, r := range p.plan.Requests {
			r.Input["argocd"] = true
		}
	}
	if d.ArgoCD == nil {
		return nil
	}
	if err := p.readTenants(values.Mapping(spec, "tenants")); err != nil {
		return err
	}
	return p.readArgoCD(e)
}

// convert fills a struct from a mapping of a checked document. Fields of the struct become empty if the mapping
// does not contain them.
func convert(from map[string]any, to any) error {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(from, to); err != nil {
		return problem.Fault("reading settings of the delivery", err)
	}
	return nil
}

// readTenants reads the settings of each tenant that sets the field "repositories".
func (p *planner) readTenants(tenants map[string]any) error {
	p.plan.Delivery.Tenants = map[string]object.Tenant{}
	for name := range tenants {
		settings := values.Mapping(tenants, name)
		if settings["repositories"] == nil {
			continue
		}
		var tenant object.Tenant
		if err := convert(settings, &tenant); err != nil {
			return err
		}
		p.plan.Delivery.Tenants[name] = tenant
	}
	return nil
}

// imageAnnotations selects the annotations whose keys the OCI image specification defines (org.opencontainers.image.*).
func imageAnnotations(all map[string]any) map[string]string {
	found := map[string]string{}
	for key, value := range all {
		if text, ok := value.(string); ok && strings.HasPrefix(key, "org.opencontainers.image.") {
			found[key] = text
		}
	}
	return found
}

// readArgoCD reads the kinds of objects that Argo CD can apply, and the objects that give Argo CD its rights.
func (p *planner) readArgoCD(e *evaluate.Evaluator) error {
	argocd, err := e.Package(argocdPackage)
	if err != nil {
		return err
	}
	d := &p.plan.Delivery
	settings := values.Mapping(p.Values, "spec", "delivery", "argocd")
	argocd = argocd.FillPath(cue.ParsePath("in"), map[string]any{"openshift": d.Target.OpenShift, "controller": d.Controller, "argocd": settings})
	if err := evaluate.Decode(argocd.LookupPath(cue.ParsePath("kinds")), &d.Kinds, "the list of kinds"); err != nil {
		return err
	}
	return evaluate.Decode(argocd.LookupPath(cue.ParsePath("access")), &d.Access, "the rights of Argo CD")
}
