package bundles

import (
	"cmp"
	"path"
	"strings"
)

// applicationSpec is what we say of an Application.
type applicationSpec struct {
	Project     string      `json:"project"`
	Source      source      `json:"source"`
	Destination destination `json:"destination"`
	SyncPolicy  syncPolicy  `json:"syncPolicy"`
}

// source is where the objects are.
type source struct {
	RepoURL        string    `json:"repoURL"`
	TargetRevision string    `json:"targetRevision"`
	Path           string    `json:"path"`
	Directory      directory `json:"directory"`
}

// directory has Argo CD read folders in the folder, too.
type directory struct {
	Recurse bool `json:"recurse"`
}

type syncPolicy struct {
	Automated   *automated `json:"automated,omitempty"`
	SyncOptions []string   `json:"syncOptions"`
	Retry       *retry     `json:"retry,omitempty"`
}

// automated lets Argo CD act by itself. That it applies nothing at all is left at its default, which is never:
// a folder without objects is a mistake.
type automated struct {
	Prune    bool `json:"prune"`
	SelfHeal bool `json:"selfHeal"`
}

type retry struct {
	Limit   int     `json:"limit"`
	Backoff backoff `json:"backoff"`
}

type backoff struct {
	Duration    string `json:"duration"`
	Factor      int    `json:"factor"`
	MaxDuration string `json:"maxDuration"`
}

// syncOptions are how Argo CD applies the objects. FailOnSharedResource is not among them: platforms of one cluster
// share cluster roles and the namespace trainyard-system on purpose.
var syncOptions = []string{
	"ServerSideApply=true",    // so that it owns what it says and nothing else
	"ApplyOutOfSyncOnly=true", // a platform has thousands of objects
	"PruneLast=true",          // nothing goes before what takes its place is there
}

// applied are annotations of Applications of a platform: the API server computes the differences, with what it and
// Trainer's webhooks fill in.
var applied = map[string]string{"argocd.argoproj.io/compare-options": "ServerSideDiff=true"}

// application has Argo CD apply the objects. It has no finalizer: whoever deletes it keeps the platform.
func (b Bundle) application() argocdObject {
	o := b.argocdObject("Application", b.name(), b.applicationSpec())
	o.Metadata.Annotations = applied
	return o
}

func (b Bundle) applicationSpec() applicationSpec {
	a := b.Delivery.ArgoCD
	spec := applicationSpec{
		Project:     b.name(),
		Source:      b.source(),
		Destination: b.destinations(systemNamespace)[0],
		SyncPolicy: syncPolicy{
			SyncOptions: syncOptions,
			// Trainer's webhooks, and CRDs of others, may take minutes until they are there.
			Retry: &retry{Limit: 10, Backoff: backoff{Duration: "5s", Factor: 2, MaxDuration: "3m"}},
		},
	}
	if a.Automated == nil || *a.Automated {
		spec.SyncPolicy.Automated = &automated{Prune: true, SelfHeal: true}
	}
	return spec
}

// source is the folder of objects in Git, or all of an artifact, which holds nothing else.
func (b Bundle) source() source {
	a := b.Delivery.ArgoCD
	s := source{RepoURL: a.RepoURL, TargetRevision: a.Revision, Directory: directory{Recurse: true}}
	if strings.HasPrefix(a.RepoURL, "oci://") {
		s.Path, s.TargetRevision = ".", cmp.Or(a.Revision, b.Tag())
		return s
	}
	s.Path, s.TargetRevision = path.Join(a.Path, b.Environment, objectsFolder), cmp.Or(a.Revision, "HEAD")
	return s
}

// systemNamespace is where what is not a team's is.
const systemNamespace = "trainyard-system"
