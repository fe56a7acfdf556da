package bundles

import (
	"cmp"
	"slices"
)

// projectSpec is what we say of an AppProject: what its Applications may apply, from where, and where to.
type projectSpec struct {
	Description                string        `json:"description"`
	SourceRepos                []string      `json:"sourceRepos"`
	Destinations               []destination `json:"destinations"`
	ClusterResourceWhitelist   []groupKind   `json:"clusterResourceWhitelist"`
	NamespaceResourceWhitelist []groupKind   `json:"namespaceResourceWhitelist"`
	Roles                      []projectRole `json:"roles,omitempty"`
}

type groupKind struct {
	Group string `json:"group"`
	Kind  string `json:"kind"`
}

// projectRole is what groups of people may do with the Applications of a project.
type projectRole struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Groups      []string `json:"groups"`
	Policies    []string `json:"policies"`
}

// project lets Argo CD apply the kinds that a platform can have, and no others. It names those that the
// platform does not have now, and no namespaces, for a reason: Argo CD does not see what a project forbids,
// so that the last object of a kind, and those of a team that is gone, would stay for ever.
func (b Bundle) project() argocdObject {
	return b.argocdObject("AppProject", b.name(), projectSpec{
		Description:                "What trainyard generates for the platform " + b.name(),
		SourceRepos:                []string{b.Delivery.ArgoCD.RepoURL},
		Destinations:               b.destinations("*"),
		ClusterResourceWhitelist:   b.kinds(true),
		NamespaceResourceWhitelist: b.kinds(false),
	})
}

// kinds are those that the platform can have, of the whole cluster or of namespaces.
func (b Bundle) kinds(cluster bool) []groupKind {
	var kinds []groupKind
	for name, kind := range b.Delivery.Kinds {
		if kind.Cluster == cluster {
			kinds = append(kinds, groupKind{kind.Group, name})
		}
	}
	slices.SortFunc(kinds, func(a, b groupKind) int { return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind)) })
	return kinds
}

// jobKinds are what a team may keep in Git.
var jobKinds = []groupKind{{"", "ConfigMap"}, {"trainer.kubeflow.org", "TrainJob"}}

// tenantProject lets Applications of a team apply TrainJobs to its namespace, and nothing of the whole cluster.
func (b Bundle) tenantProject(name string) argocdObject {
	tenant := b.Delivery.Tenants[name]
	project := b.teamName(name)
	return b.argocdObject("AppProject", project, projectSpec{
		Description:                "TrainJobs of the team " + name,
		SourceRepos:                tenant.Repositories,
		Destinations:               b.destinations(name),
		ClusterResourceWhitelist:   []groupKind{},
		NamespaceResourceWhitelist: jobKinds,
		Roles: slices.Concat(
			role(project, "editor", "Sync Applications of the team", tenant.Editors, "get", "sync", "action/*"),
			role(project, "viewer", "Look at Applications of the team", tenant.Viewers, "get"),
		),
	})
}

// role lets groups act on the Applications of a project; there is none without groups.
func role(project, name, description string, who Subjects, actions ...string) []projectRole {
	if len(who.Groups) == 0 {
		return nil
	}
	r := projectRole{Name: name, Description: description, Groups: who.Groups}
	for _, action := range actions {
		r.Policies = append(r.Policies, "p, proj:"+project+":"+name+", applications, "+action+", "+project+"/*, allow")
	}
	return []projectRole{r}
}
