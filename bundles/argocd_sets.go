package bundles

import (
	"cmp"
	"maps"
	"slices"
)

// setSpec is what we say of an ApplicationSet, which makes Applications of a template.
type setSpec struct {
	GoTemplate        bool          `json:"goTemplate"`
	GoTemplateOptions []string      `json:"goTemplateOptions"`
	Generators        []generator   `json:"generators"`
	Template          template      `json:"template"`
	SyncPolicy        setSyncPolicy `json:"syncPolicy"`
}

// generator says which Applications there are: one for each element of a list, or for each folder in Git.
type generator struct {
	List *listGenerator `json:"list,omitempty"`
	Git  *gitGenerator  `json:"git,omitempty"`
}

type listGenerator struct {
	Elements []clusterElement `json:"elements"`
}

// clusterElement is one of several clusters, by its address or by its name. Empty ones are said, too: a template
// may ask for nothing that is not there.
type clusterElement struct {
	Cluster  string `json:"cluster"` // what the document calls it
	Server   string `json:"server"`
	Name     string `json:"name"`
	Revision string `json:"revision"`
}

type gitGenerator struct {
	RepoURL     string            `json:"repoURL"`
	Revision    string            `json:"revision"`
	Directories []gitFolder       `json:"directories"`
	Values      map[string]string `json:"values"`
}

type gitFolder struct {
	Path string `json:"path"`
}

type template struct {
	Metadata templateMetadata `json:"metadata"`
	Spec     applicationSpec  `json:"spec"`
}

type templateMetadata struct {
	Name        string            `json:"name"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// setSyncPolicy keeps what was applied when an Application goes, which is when its cluster or folder does.
type setSyncPolicy struct {
	PreserveResourcesOnDeletion bool `json:"preserveResourcesOnDeletion"`
}

// set makes Applications. The part of their names that is not ours comes after a full stop, as teams do: none can be that of
// another's. Nothing of what decides on rights is left to generators.
func (b Bundle) set(name, part string, generators []generator, annotations map[string]string, spec applicationSpec) argocdObject {
	o := b.argocdObject("ApplicationSet", name, nil)
	o.Spec = setSpec{
		GoTemplate: true, GoTemplateOptions: []string{"missingkey=error"},
		Generators: generators,
		Template:   template{Metadata: templateMetadata{Name: name + "." + part, Labels: o.Metadata.Labels, Annotations: annotations}, Spec: spec},
		SyncPolicy: setSyncPolicy{PreserveResourcesOnDeletion: true},
	}
	return o
}

// clusterSet has Argo CD apply the objects to each of several clusters.
func (b Bundle) clusterSet() argocdObject {
	a, spec := b.Delivery.ArgoCD, b.applicationSpec()
	list := &listGenerator{}
	for _, name := range slices.Sorted(maps.Keys(a.Clusters)) {
		to := destinationIn(a.Clusters[name].Cluster, "")
		revision := cmp.Or(a.Clusters[name].Revision, spec.Source.TargetRevision)
		list.Elements = append(list.Elements, clusterElement{Cluster: name, Server: to.Server, Name: to.Name, Revision: revision})
	}
	spec.Source.TargetRevision = "{{.revision}}"
	spec.Destination = destination{Server: "{{.server}}", Name: "{{.name}}", Namespace: systemNamespace}
	return b.set(b.name(), "{{.cluster}}", []generator{{List: list}}, applied, spec)
}

// tenantSet makes an Application of each folder of a team's repositories. Nothing is applied until somebody syncs it: Argo CD
// is no queue. Folders are called what the team likes, so that project, cluster and namespace are ours to say.
func (b Bundle) tenantSet(name string) argocdObject {
	tenant := b.Delivery.Tenants[name]
	revision := cmp.Or(tenant.Applications.Revision, "HEAD")
	var generators []generator
	for _, url := range tenant.Repositories {
		git := &gitGenerator{RepoURL: url, Revision: revision, Values: map[string]string{"repoURL": url}}
		for _, pattern := range tenant.Applications.Folders {
			git.Directories = append(git.Directories, gitFolder{pattern})
		}
		generators = append(generators, generator{Git: git})
	}
	project := b.teamName(name)
	return b.set(project, "{{.path.basenameNormalized}}", generators, nil, applicationSpec{
		Project:     project,
		Source:      source{RepoURL: "{{.values.repoURL}}", TargetRevision: revision, Path: "{{.path.path}}", Directory: directory{Recurse: true}},
		Destination: b.destinations(name)[0],
		SyncPolicy:  syncPolicy{SyncOptions: []string{"ServerSideApply=true", "ApplyOutOfSyncOnly=true"}},
	})
}
