package bundles

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/trainyard/trainyard/generator/object"
)

// syncOptions are the sync options of Argo CD for platforms and TrainJobs. The option FailOnSharedResource must not be
// set. With the option FailOnSharedResource, Argo CD refuses to sync objects that several platforms of a cluster
// share: some ClusterRoles, and the namespace trainyard-system.
var syncOptions = []string{
	"ServerSideApply=true",    // Argo CD owns only the fields that the bundle sets
	"ApplyOutOfSyncOnly=true", // skips unchanged objects, because a platform has thousands of objects
}

// serverSideDiff keeps Argo CD from reporting differences in fields that the API server or Trainer's webhooks set.
var serverSideDiff = map[string]string{"argocd.argoproj.io/compare-options": "ServerSideDiff=true"}

// buildApplication returns the Application of the bundle. The Application has no finalizer, so the objects stay when
// somebody deletes the Application.
func (a argocdWriter) buildApplication() fields {
	return a.resource("Application", a.uniqueName(), serverSideDiff, a.applicationSpec())
}

func (a argocdWriter) applicationSpec() fields {
	policy := fields{
		// The Application does not set the option PruneLast, because the option would also apply to RoleBindings, which
		// Argo CD must delete first. Instead, the package policies/delivery sets PruneLast in an annotation of each object
		// that Argo CD prunes, except RoleBindings and ClusterRoleBindings.
		"syncOptions": syncOptions,
		// A sync can fail in the first minutes, while Trainer's webhooks and the CRDs of other projects are not available
		// yet.
		"retry": fields{"limit": 10, "backoff": fields{"duration": "5s", "factor": 2, "maxDuration": "3m"}},
	}
	if a.Automated == nil || *a.Automated {
		// The field allowEmpty keeps its default false, so that Argo CD does not delete all objects if the folder is empty
		// by mistake.
		policy["automated"] = fields{"prune": true, "selfHeal": true}
	}
	revision, folder := a.findSource()
	return fields{
		"project": a.uniqueName(), "source": source(a.RepoURL, revision, folder), "destination": a.destinations(systemNamespace)[0], "syncPolicy": policy,
	}
}

// findSource returns the revision and the folder from which Argo CD reads the objects. In an OCI artifact, the
// objects are in the root folder, because the artifact contains no other files.
func (a argocdWriter) findSource() (revision, folder string) {
	if strings.HasPrefix(a.RepoURL, "oci://") {
		return cmp.Or(a.Revision, a.Tag()), "."
	}
	return cmp.Or(a.Revision, "HEAD"), path.Join(a.Path, a.Environment, objectsFolder)
}

func source(repoURL, revision, folder string) fields {
	return fields{"repoURL": repoURL, "targetRevision": revision, "path": folder, "directory": fields{"recurse": true}}
}

// applicationSet returns an ApplicationSet. The name of each generated Application consists of the argument "name", a
// full stop, and the argument "suffix". The suffix is a template, which Argo CD fills in for each element of the
// generators. The names of platforms, environments and tenants contain no full stop. Therefore the generated names
// differ from the names of all other Applications in the bundle. The argument "spec" can also contain templates, but
// not in fields that grant permissions, such as the project.
func (a argocdWriter) applicationSet(name, suffix string, generators []fields, annotations map[string]string, spec fields) fields {
	metadata := fields{"name": name + "." + suffix, "labels": a.labels()}
	if annotations != nil {
		metadata["annotations"] = annotations
	}
	return a.resource("ApplicationSet", name, nil, fields{
		"goTemplate": true, "goTemplateOptions": []string{"missingkey=error"},
		"generators": generators,
		"template":   fields{"metadata": metadata, "spec": spec},
		// If the document no longer lists a cluster, or a repository no longer contains a folder,
		// Argo CD deletes the Application of this cluster or folder. The objects of the Application
		// stay in the cluster.
		"syncPolicy": fields{"preserveResourcesOnDeletion": true},
	})
}

func (a argocdWriter) clusterSet() fields {
	revision, folder := a.findSource()
	var elements []fields
	for _, name := range slices.Sorted(maps.Keys(a.Clusters)) {
		// Each element of the list generator must contain the keys "server" and "name", because the template
		// uses both keys, and fails if one of them is missing.
		element := fields{"cluster": name, "server": "", "name": "", "revision": cmp.Or(a.Clusters[name].Revision, revision)}
		maps.Copy(element, newDestination(a.Clusters[name].Cluster, ""))
		delete(element, "namespace")
		elements = append(elements, element)
	}
	spec := a.applicationSpec()
	spec["source"] = source(a.RepoURL, "{{.revision}}", folder)
	spec["destination"] = fields{"server": "{{.server}}", "name": "{{.name}}", "namespace": systemNamespace}
	return a.applicationSet(a.uniqueName(), "{{.cluster}}", []fields{{"list": fields{"elements": elements}}}, serverSideDiff, spec)
}

// tenantSet returns the ApplicationSet of a team. The field Folders of tenant.Applications selects folders in the
// team's repositories. For each selected folder, the ApplicationSet generates one Application. Argo CD cannot queue
// TrainJobs. Therefore Argo CD does not sync these Applications automatically: a person must start each sync. The team
// can choose the names of the folders, but not the project, the cluster or the namespace of an Application.
func (a argocdWriter) tenantSet(name string, tenant object.Tenant) fields {
	revision := cmp.Or(tenant.Applications.Revision, "HEAD")
	var generators, directories []fields
	for _, folder := range tenant.Applications.Folders {
		directories = append(directories, fields{"path": folder})
	}
	for _, url := range tenant.Repositories {
		generators = append(generators, fields{"git": fields{
			"repoURL": url, "revision": revision, "directories": directories, "values": fields{"repoURL": url},
		}})
	}
	project := a.tenantName(name)
	return a.applicationSet(project, "{{.path.basenameNormalized}}", generators, nil, fields{
		"project":     project,
		"source":      source("{{.values.repoURL}}", revision, "{{.path.path}}"),
		"destination": a.destinations(name)[0],
		"syncPolicy":  fields{"syncOptions": syncOptions},
	})
}
