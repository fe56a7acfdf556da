package bundles

import (
	"cmp"
	"slices"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/generator/object"
)

// groupKind is an entry of the kinds that an AppProject allows.
type groupKind struct {
	Group string `json:"group"`
	Kind  string `json:"kind"`
}

// project returns the AppProject that lets Argo CD apply the kinds a platform can have, and no others. It also allows the
// kinds that the platform does not have now, and all namespaces. Argo CD ignores objects that a project forbids, so without these it
// would never delete the last object of a kind, or the objects of a removed team.
func (a argocdWriter) project() fields {
	return a.resource("AppProject", a.name(), nil, fields{
		"description":                "Objects that trainyard generates for the platform " + a.name(),
		"sourceRepos":                []string{a.RepoURL},
		"destinations":               a.destinations("*"),
		"clusterResourceWhitelist":   a.kinds(true),
		"namespaceResourceWhitelist": a.kinds(false),
	})
}

// kinds returns the kinds that the platform can have, cluster-scoped or namespaced.
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

// tenantProject returns the AppProject that lets Applications of a team apply TrainJobs and ConfigMaps to its namespace, and
// nothing cluster-scoped.
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
