package bundles

import (
	"cmp"
	"slices"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/generator/object"
)

type groupKind struct {
	Group string `json:"group"`
	Kind  string `json:"kind"`
}

// project returns the AppProject that lets Argo CD apply only the kinds of objects that a platform can contain. The
// AppProject allows these kinds even if the platform has no object of the kind now. Otherwise, Argo CD could not delete
// the last object of a kind, because Argo CD ignores objects that an AppProject forbids.
func (a argocdWriter) project() fields {
	return a.resource("AppProject", a.name(), nil, fields{
		"description":                "Objects that trainyard generates for the platform " + a.name(),
		"sourceRepos":                []string{a.RepoURL},
		"destinations":               a.destinations("*"),
		"clusterResourceWhitelist":   a.kinds(true),
		"namespaceResourceWhitelist": a.kinds(false),
	})
}

// kinds returns the cluster-scoped or the namespaced kinds of objects that a platform can contain.
func (a argocdWriter) kinds(cluster bool) []groupKind {
	var kinds []groupKind
	for name, kind := range a.Delivery.Kinds {
		if kind.Cluster == cluster {
			kinds = append(kinds, groupKind{kind.Group, name})
		}
	}
	slices.SortFunc(kinds, func(a, b groupKind) int { return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind)) })
	return kinds
}

// tenantProject lets the Applications of a team apply only TrainJobs and ConfigMaps, only to the team's namespace.
func (a argocdWriter) tenantProject(name string, tenant object.Tenant) fields {
	project := a.tenantName(name)
	spec := fields{
		"description":                "TrainJobs of the team " + name,
		"sourceRepos":                tenant.Repositories,
		"destinations":               a.destinations(name),
		"clusterResourceWhitelist":   []groupKind{},
		"namespaceResourceWhitelist": []groupKind{{"", "ConfigMap"}, {v1alpha1.TrainerGroup, "TrainJob"}},
	}
	roles := slices.Concat(
		role(project, "editor", "Sync Applications of the team", tenant.Editors, "get", "sync", "action/*"),
		role(project, "viewer", "View Applications of the team", tenant.Viewers, "get"),
	)
	if len(roles) > 0 {
		spec["roles"] = roles
	}
	return a.resource("AppProject", project, nil, spec)
}

// role returns a project role that lets groups act on the Applications of the project, or no role if there are no groups.
func role(project, name, description string, subjects object.Subjects, actions ...string) []fields {
	if len(subjects.Groups) == 0 {
		return nil
	}
	var policies []string
	for _, action := range actions {
		policies = append(policies, "p, proj:"+project+":"+name+", applications, "+action+", "+project+"/*, allow")
	}
	return []fields{{"name": name, "description": description, "groups": subjects.Groups, "policies": policies}}
}
