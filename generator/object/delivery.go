package object

// Delivery holds the settings of a document that bundle formats read. Empty fields have the defaults of the format.
type Delivery struct {
	ArgoCD  *ArgoCD           `json:"argocd"` // spec.delivery.argocd; nil where Argo CD delivers nothing
	Helm    Helm              `json:"helm"`   // spec.delivery.helm
	OLM     OLM               `json:"olm"`    // spec.delivery.olm
	Target  Target            // spec.target
	Tenants map[string]Tenant // by name, the tenants that keep TrainJobs in Git; empty where Argo CD delivers nothing
	Kinds   map[string]Kind   // by name, every kind that trainyard can generate for the cluster; empty where Argo CD delivers nothing
	Bounds  []Bound           // limits on values that a chart checks again at installation

	Annotations map[string]string // the document's annotations whose keys OCI images use, org.opencontainers.image.*
}

// ArgoCD is the location of the bundle, and how Argo CD applies it.
type ArgoCD struct {
	RepoURL   string `json:"repoURL"`
	Path      string `json:"path"`      // the folder in the repository that holds the bundle of each environment
	Revision  string `json:"revision"`  // HEAD by default, or the bundle's tag where RepoURL is an OCI artifact
	Namespace string `json:"namespace"` // Argo CD's own
	Cluster   string `json:"cluster"`   // an address or a name; by default, the cluster that runs Argo CD
	Automated *bool  `json:"automated"` // true by default

	// Clusters are several clusters that get the same objects, by their names in the document; it replaces Cluster.
	Clusters map[string]ArgoCDCluster `json:"clusters"`
}

// ArgoCDCluster is one of several clusters that get the same objects.
type ArgoCDCluster struct {
	Cluster  string `json:"cluster"`  // an address or a name
	Revision string `json:"revision"` // by default, the revision of all clusters
}

// Helm holds the settings of a chart.
type Helm struct {
	Version string `json:"version"` // 0.1.0 by default
}

// OLM holds the settings of an OLM bundle.
type OLM struct {
	Manifests []string `json:"manifests"` // kinds that OLM applies itself, as separate manifests
}

// Target is the cluster that the objects are for, as far as the document specifies it.
type Target struct {
	Kubernetes string `json:"kubernetes"` // the oldest version, such as 1.33
	OpenShift  bool   `json:"openshift"`
	Trainer    string `json:"trainer"` // a minor version, such as 2.3
}

// Kind is a kind of Kubernetes objects.
type Kind struct {
	Group     string `json:"group"`
	Cluster   bool   `json:"cluster"`   // whether its objects are cluster-scoped
	OpenShift bool   `json:"openshift"` // whether it exists on OpenShift only
}

// Tenant is a team that keeps TrainJobs in Git.
type Tenant struct {
	Repositories []string      `json:"repositories"`
	Applications *Applications `json:"applications"` // nil where Argo CD creates no Applications for the team
	Editors      Subjects      `json:"editors"`
	Viewers      Subjects      `json:"viewers"`
}

// Applications are folders of a team's repositories, each of which gets an Application.
type Applications struct {
	Folders  []string `json:"folders"`
	Revision string   `json:"revision"` // HEAD by default
}

// Subjects are the people who hold a role.
type Subjects struct {
	Groups []string `json:"groups"` // as the identity provider names them
}
