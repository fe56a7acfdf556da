package object

// Delivery contains the settings that bundle formats read from a document. If a field of Delivery is empty, the
// bundle format uses a default.
type Delivery struct {
	ArgoCD  *ArgoCD           `json:"argocd"` // spec.delivery.argocd; nil if Argo CD delivers nothing
	Helm    Helm              `json:"helm"`   // spec.delivery.helm
	OLM     OLM               `json:"olm"`    // spec.delivery.olm
	Target  Target            // spec.target
	Tenants map[string]Tenant // the tenants that store TrainJobs in Git, by name; empty if Argo CD delivers nothing
	Kinds   map[string]Kind   // for Argo CD only: all kinds that trainyard can generate, by name
	Access  []map[string]any  // the objects that give Argo CD its rights; empty if Argo CD has all rights
	Bounds  []Bound           // limits on values that a chart checks again at installation

	Controller bool // spec.controller.enabled

	Annotations map[string]string // the document's annotations org.opencontainers.image.* for OCI images
}

// ArgoCD holds the location of the bundle, and settings of the Applications that apply the bundle.
type ArgoCD struct {
	RepoURL   string `json:"repoURL"`
	Path      string `json:"path"`      // the folder of the repository that contains the bundles of all environments
	Revision  string `json:"revision"`  // HEAD by default, or the bundle's tag if RepoURL is an OCI artifact
	Namespace string `json:"namespace"` // the namespace of Argo CD
	Cluster   string `json:"cluster"`   // the cluster's address or name; by default, the cluster that runs Argo CD
	Instance  string `json:"instance"`  // distinguishes the Argo CDs of several environments; no object contains it
	Automated *bool  `json:"automated"` // true by default

	// Clusters contains several clusters that get the same objects. The key is the name of the cluster in the document.
	// If the field Clusters is set, the field Cluster is empty.
	Clusters map[string]ArgoCDCluster `json:"clusters"`
}

// ArgoCDCluster is one of several clusters that get the same objects.
type ArgoCDCluster struct {
	Cluster  string `json:"cluster"`  // the cluster's address or name
	Revision string `json:"revision"` // by default, the revision in the field ArgoCD.Revision
}

// Helm holds the settings of a Helm chart.
type Helm struct {
	Version string `json:"version"` // 0.1.0 by default
}

// OLM holds the settings of an OLM bundle.
type OLM struct {
	Manifests []string `json:"manifests"` // kinds of objects that OLM applies itself, from separate manifests
}

// Target describes the cluster for which the objects are generated. A field of Target is empty if the document does
// not set the field.
type Target struct {
	Kubernetes string `json:"kubernetes"` // a minor version, such as 1.33
	OpenShift  bool   `json:"openshift"`
	Trainer    string `json:"trainer"` // a minor version, such as 2.3
	Gang       string `json:"gang"`    // the gang scheduler, such as kueue; empty or "none" if there is no gang scheduler
}

// Kind describes a kind of Kubernetes objects, such as ClusterRole.
type Kind struct {
	Group   string `json:"group"`
	Cluster bool   `json:"cluster"` // whether objects of the kind are cluster-scoped
}

// Tenant is a team that stores its TrainJobs in Git.
type Tenant struct {
	Repositories []string      `json:"repositories"`
	Applications *Applications `json:"applications"` // nil if Argo CD creates no Applications for the team
	Editors      Subjects      `json:"editors"`
	Viewers      Subjects      `json:"viewers"`
}

// Applications selects folders in the repositories of a team. Argo CD creates one Application for each
// selected folder.
type Applications struct {
	Folders  []string `json:"folders"`
	Revision string   `json:"revision"` // HEAD by default
}

// Subjects lists the groups of people that have a role, such as editor.
type Subjects struct {
	Groups []string `json:"groups"` // names of the groups in the identity provider
}
