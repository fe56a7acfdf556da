package generator

import (
	"strings"

	"cuelang.org/go/cue"

	"github.com/trainyard/trainyard/generator/problem"
)

// Delivery is what a document says of how its objects get to the cluster, as decoded JSON. It has
// been checked, and holds no defaults.
type Delivery struct {
	ArgoCD  map[string]any            `json:"argocd,omitempty"`  // spec.delivery.argocd
	Helm    map[string]any            `json:"helm,omitempty"`    // spec.delivery.helm
	OLM     map[string]any            `json:"olm,omitempty"`     // spec.delivery.olm
	Target  map[string]any            `json:"target,omitempty"`  // spec.target
	Tenants map[string]map[string]any `json:"tenants,omitempty"` // what packaging has to know of those that keep TrainJobs in Git, by name
	Kinds   map[string]Kind           `json:"kinds,omitempty"`   // that the cluster may get, if not of this document then of what becomes of it

	Bounds Bounds `json:"bounds"` // rules over several values, for whoever changes values after generation

	OpenShift   bool              `json:"openshift,omitempty"`   // whether the cluster is OpenShift
	Annotations map[string]string `json:"annotations,omitempty"` // of the document, those that images have
	Position    problem.Position  `json:"position"`              // of spec.delivery, or of what should hold it
}

// Kind is a kind of objects.
type Kind struct {
	Group     string `json:"group"`
	Cluster   bool   `json:"cluster,omitempty"`   // whether its objects are of the whole cluster
	OpenShift bool   `json:"openshift,omitempty"` // whether only OpenShift has it
}

var kindsPath = cue.ParsePath("kinds")

// toldOfTenants are the keys of a tenant that packaging has to know.
var toldOfTenants = []string{"repositories", "applications", "editors", "viewers"}

// deliver notes what packaging has to know, and has makers annotate objects for Argo CD where that
// is what applies them.
func (w *work) deliver(on *engine) error {
	spec := mappingAt(w.sound, "spec")
	w.delivery = Delivery{
		ArgoCD: mappingAt(spec, "delivery", "argocd"), Helm: mappingAt(spec, "delivery", "helm"), OLM: mappingAt(spec, "delivery", "olm"),
		Target:      mappingAt(spec, "target"),
		Annotations: imageAnnotations(mappingAt(w.sound, "metadata", "annotations")),
		Position:    w.document.Locate("spec", "delivery"),
	}
	w.delivery.OpenShift, _ = mappingAt(spec, "target")["openshift"].(bool)
	if _, told := mappingAt(spec, "target")["argocd"]; told || w.delivery.ArgoCD != nil {
		for _, r := range w.requests {
			r.In["argocd"] = true
		}
	}
	if w.delivery.ArgoCD == nil {
		return nil
	}
	w.delivery.Tenants = map[string]map[string]any{}
	tenants := mappingAt(spec, "tenants")
	for name := range tenants {
		if tenant := mappingAt(tenants, name); tenant["repositories"] != nil {
			w.delivery.Tenants[name] = those(tenant, toldOfTenants)
		}
	}
	return w.delivery.readKinds(on)
}

// imageAnnotations are those that artifacts can have: what the document says of itself in the words of images.
func imageAnnotations(all map[string]any) map[string]string {
	found := map[string]string{}
	for key, value := range all {
		if text, ok := value.(string); ok && strings.HasPrefix(key, "org.opencontainers.image.") {
			found[key] = text
		}
	}
	return found
}

// readKinds reads those that the cluster can have.
func (d *Delivery) readKinds(on *engine) error {
	makers, err := on.built(makersPackage)
	if err != nil {
		return err
	}
	if err := decode(makers.LookupPath(kindsPath), &d.Kinds); err != nil {
		return bug("reading which kinds there are", err)
	}
	for name, kind := range d.Kinds {
		if kind.OpenShift && !d.OpenShift {
			delete(d.Kinds, name)
		}
	}
	return nil
}
