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

// buildProject returns the AppProject that lets Argo CD apply only the kinds of objects that a platform can contain.
// Argo CD can delete an object only if the AppProject allows its kind and namespace. Therefore the AppProject also
// allows kinds and namespaces that the platform no longer uses. Otherwise Argo CD could not delete the last object of
// a kind, or the objects of a removed team.
func (a argocdWriter) buildProject() fields {
	return a.resource("AppProject", a.uniqueName(), nil, fields{
		"description":                "Objects that trainyard generates for the platform " + a.uniqueName(),
		"sourceRepos":                []string{a.RepoURL},
		"destinations":               a.platformDestinations(),
		"clusterResourceWhitelist":   a.listKinds(true),
		"namespaceResourceWhitelist": a.listKinds(false),
	})
}

// openShiftNamespaces are patterns for the namespaces of OpenShift. The patterns do not match
// openshift-config-managed, because a platform can add dashboards for OpenShift's console to this namespace.
var openShiftNamespaces = []string{
	"openshift", "openshift-[!c]*", "openshift-c[!o]*", "openshift-co[!n]*", "openshift-con[!f]*", "openshift-config", "openshift-config-operator",
}

// platformDestinations allows all namespaces except the namespaces of Argo CD and of the cluster's own software.
// Everybody who can write to the platform's repository can add RoleBindings to the allowed namespaces. The other
// namespaces are forbidden, because a RoleBinding there would let an attacker control Argo CD or the cluster. In a
// destination, an exclamation mark before the namespace means that the namespace is forbidden. The namespace is then
// forbidden in all clusters, even if the destination names only one cluster. Therefore one destination for each
// forbidden namespace is enough.
func (a argocdWriter) platformDestinations() []fields {
	forbidden := []string{a.Namespace, "kube-*"}
	if a.Delivery.Target.OpenShift {
		forbidden = append(forbidden, openShiftNamespaces...)
	}
	all := a.destinations("*")
	for _, namespace := range forbidden {
		all = append(all, a.destinations("!" + namespace)[0])
	}
	return all
}

// listKinds returns the kinds of objects that a platform can contain. The argument "cluster" selects
// cluster-scoped kinds (true) or namespaced kinds (false).
func (a argocdWriter) listKinds(cluster bool) []groupKind {
	var kinds []groupKind
	for name, kind := range a.Delivery.Kinds {
		if kind.Cluster == cluster {
			kinds = append(kinds, groupKind{kind.Group, name})
		}
	}
	slices.SortFunc(kinds, func(a, b groupKind) int { return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind)) })
	return kinds
}

// tenantProject returns the AppProject for the Applications of a team. The Applications of a team can apply only
// TrainJobs, and only to the team's namespace. The AppProject does not allow ConfigMaps: Trainer 2.3 stores the runtime
// of a TrainJob in a ConfigMap, and the team must not change this ConfigMap.
func (a argocdWriter) tenantProject(name string, tenant object.Tenant) fields {
	project := a.tenantName(name)
	spec := fields{
		"description":                "TrainJobs of the team " + name,
		"sourceRepos":                tenant.Repositories,
		"destinations":               a.destinations(name),
		"clusterResourceWhitelist":   []groupKind{},
		"namespaceResourceWhitelist": []groupKind{{v1alpha1.TrainerGroup, "TrainJob"}},
	}
	roles := slices.Concat(
		buildRole(project, "editor", "Sync Applications of the team", tenant.Editors, "get", "sync", "action/*"),
		buildRole(project, "viewer", "View Applications of the team", tenant.Viewers, "get"),
	)
	if len(roles) > 0 {
		spec["roles"] = roles
	}
	return a.resource("AppProject", project, nil, spec)
}

// buildRole returns a project role that lets groups act on the Applications of the project, or no role if there are no
// groups.
func buildRole(project, name, description string, subjects object.Subjects, actions ...string) []fields {
	if len(subjects.Groups) == 0 {
		return nil
	}
	var policies []string
	for _, action := range actions {
		policies = append(policies, "p, proj:"+project+":"+name+", applications, "+action+", "+project+"/*, allow")
	}
	return []fields{{"name": name, "description": description, "groups": subjects.Groups, "policies": policies}}
}
