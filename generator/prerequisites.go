package generator

import (
	"maps"
	"slices"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/generator/problem"
)

// Prerequisite is something that the generated objects need but do not contain, such as a program or a
// namespace.
type Prerequisite struct {
	Need   problem.Phrase `json:"need"`   // such as: namespace team-a
	Reason problem.Phrase `json:"reason"` // the objects that need it, or the task of the admin
}

// apiProvider maps API groups to the programs that define the kinds of these groups. The kinds of all other
// API groups are defined by Kubernetes, OpenShift or trainyard itself.
var apiProvider = map[string]string{
	v1alpha1.TrainerGroup:     "Kubeflow Trainer",
	"kueue.x-k8s.io":          "Kueue",
	"monitoring.coreos.com":   "the Prometheus operator",
	"grafana.integreatly.org": "the Grafana operator",
	"perses.dev":              "the Perses operator",
}

// Prerequisites lists the requirements of the generated objects, in the order in which an admin of the
// cluster provides them.
func (p Platform) Prerequisites() []Prerequisite {
	return slices.Concat(p.needPrograms(), p.needCRDs(), p.needSchedulers(), p.needNamespaces(), p.needReferences(), p.needShared(), p.needRights())
}

// kindsByGroup returns the kinds of the platform's objects by API group. The result contains only API groups in
// apiProvider.
func (p Platform) kindsByGroup() map[string]map[string]bool {
	kinds := map[string]map[string]bool{}
	for o := range p.Objects.All() {
		if id := o.ID(); apiProvider[id.Group] != "" {
			addTo(kinds, id.Group, id.Kind)
		}
	}
	return kinds
}

// needPrograms lists the programs, such as Kueue, that provide CRDs for the platform's objects.
func (p Platform) needPrograms() []Prerequisite {
	kinds := p.kindsByGroup()
	var needs []Prerequisite
	for _, group := range slices.Sorted(maps.Keys(kinds)) {
		name := apiProvider[group]
		if version := p.Delivery.Target.Trainer; group == v1alpha1.TrainerGroup && version != "" {
			name += " " + version
		}
		needs = append(needs, Prerequisite{problem.NewPhrase(name), listAll("its CRDs define ", kinds[group])})
	}
	return needs
}

// needCRDs lists trainyard's own CRD if one of the platform's objects has the kind that the CRD
// defines.
func (p Platform) needCRDs() []Prerequisite {
	for o := range p.Objects.All() {
		if id := o.ID(); id.Group == v1alpha1.Group {
			return []Prerequisite{newPrerequisite("trainyard's CRD trainjobsources."+v1alpha1.Group, "it defines "+id.Kind+", and no bundle contains the CRD yet")}
		}
	}
	return nil
}

// schedulers maps values of target.gang to the programs that schedule the pods of a job together.
var schedulers = map[string]string{"volcano": "Volcano", "coscheduling": "the scheduler plugin Coscheduling", "kueue": "Kueue"}

// needSchedulers lists the gang scheduler that target.gang names. If delivery.argocd is set, needSchedulers also
// lists Argo CD. If needPrograms already lists Kueue, needSchedulers leaves Kueue out.
func (p Platform) needSchedulers() []Prerequisite {
	var needs []Prerequisite
	_, listed := p.kindsByGroup()["kueue.x-k8s.io"]
	if name := schedulers[p.Delivery.Target.Gang]; name != "" && !listed {
		needs = append(needs, newPrerequisite(name, "target.gang is "+p.Delivery.Target.Gang))
	}
	if p.Delivery.ArgoCD != nil {
		needs = append(needs, newPrerequisite("Argo CD", "delivery.argocd is set"))
	}
	return needs
}

func (p Platform) needNamespaces() []Prerequisite {
	created, used := map[string]bool{}, map[string]bool{}
	for o := range p.Objects.All() {
		id := o.ID()
		if id.Kind == "Namespace" {
			created[id.Name] = true
		}
		used[id.Namespace] = true
	}
	maps.DeleteFunc(used, func(name string, _ bool) bool { return name == "" || created[name] })
	if len(used) == 0 {
		return nil
	}
	noun := "namespace "
	if len(used) > 1 {
		noun = "namespaces "
	}
	return []Prerequisite{{listAll(noun, used), problem.NewPhrase("generated objects belong there, and trainyard creates a namespace only for a tenant with namespace.create")}}
}

// needRights lists programs, rights and settings that only an admin of the cluster can provide.
func (p Platform) needRights() []Prerequisite {
	var needs []Prerequisite
	if p.Delivery.Controller {
		needs = append(needs, newPrerequisite("trainyard's controller", "spec.controller.enabled is true, and no bundle contains the controller yet"))
	}
	if len(p.Delivery.Access) > 0 {
		needs = append(needs, newPrerequisite("rights of Argo CD", "an admin of the cluster applies the folder argocd of the bundle, because OpenShift GitOps cannot apply these objects with its own rights"))
	}
	for o := range p.Objects.All() {
		if id := o.ID(); p.Delivery.Target.OpenShift && id.Kind == "PrometheusRule" {
			return append(needs, newPrerequisite("namespacesWithoutLabelEnforcement: ["+id.Namespace+"]",
				"without this setting of OpenShift's user workload monitoring, rules cannot read the metrics of tenants (docs/monitoring.md)"))
		}
	}
	return needs
}

func addTo(sets map[string]map[string]bool, key, item string) {
	if sets[key] == nil {
		sets[key] = map[string]bool{}
	}
	sets[key][item] = true
}

// listAll returns a phrase that ends with the names in a set.
func listAll(text string, set map[string]bool) problem.Phrase {
	return problem.NewPhrase(text, slices.Collect(maps.Keys(set))...)
}

func newPrerequisite(need, reason string) Prerequisite {
	return Prerequisite{problem.NewPhrase(need), problem.NewPhrase(reason)}
}
