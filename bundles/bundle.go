package bundles

import (
	"encoding/json"
	"fmt"

	"github.com/trainyard/trainyard/generator/object"
)

// Bundle is what a format renders: objects, and what their document says of how
// they get to a cluster.
type Bundle struct {
	Platform    string // the document's metadata.name
	Environment string // empty where the document has no environments
	Objects     object.Set
	Delivery    Delivery
}

// Delivery is what a document says of delivery, and what packaging needs besides.
type Delivery struct {
	ArgoCD  *ArgoCD           `json:"argocd"` // nil where Argo CD delivers nothing
	Helm    Helm              `json:"helm"`
	Target  Target            `json:"target"`
	Tenants map[string]Tenant `json:"tenants"`
	Kinds   map[string]Kind   `json:"kinds"` // that the cluster may get, today or later

	Bounds Bounds `json:"bounds"` // that other values of parameters are to keep

	OpenShift bool `json:"openshift"`
	OLM       OLM  `json:"olm"`

	Annotations map[string]string `json:"annotations"` // what the document says of itself, as images say it
}

// Target is what the objects are for, as far as the document says.
type Target struct {
	Kubernetes string `json:"kubernetes"` // the oldest version, such as 1.33
	Trainer    string `json:"trainer"`
}

// Kind is a kind of objects.
type Kind struct {
	Group   string `json:"group"`
	Cluster bool   `json:"cluster"` // whether its objects are of the whole cluster
}

// ReadDelivery reads what generation says of delivery, which marshals to JSON.
func ReadDelivery(told any) (d Delivery, err error) {
	text, err := json.Marshal(told)
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if err != nil {
		err = fmt.Errorf("reading what the document says of delivery: %w", err)
	}
	return d, err
}

// Tenant is a team that keeps TrainJobs in Git, by its namespace.
type Tenant struct {
	Repositories []string      `json:"repositories"`
	Applications *Applications `json:"applications"` // nil where the team has none made for it
	Editors      Subjects      `json:"editors"`
	Viewers      Subjects      `json:"viewers"`
}

// Applications are folders of repositories that get an Application each.
type Applications struct {
	Folders  []string `json:"folders"`
	Revision string   `json:"revision"` // HEAD by default
}

// Subjects are people, as those who sign them in call them.
type Subjects struct {
	Groups []string `json:"groups"`
}

// name is that of the platform in its environment: one Argo CD may deliver several.
func (b Bundle) name() string {
	if b.Environment == "" {
		return b.Platform
	}
	return b.Platform + "-" + b.Environment
}

// teamName is that of a team in the bundle's environment. No name of a platform, an environment or a team has a full stop, so
// that it is of no other: with a dash, team eu of prod would be called as the environment prod-eu is.
func (b Bundle) teamName(team string) string { return b.name() + "." + team }

// MissingError is an error about what a document lacks for a format, or has too much of.
type MissingError struct {
	Path    string // of the field, such as spec.delivery.argocd
	Message string // why the format needs it, and what is wanted
}

// Error names the field before what is wanted.
func (m *MissingError) Error() string { return m.Path + ": " + m.Message }
