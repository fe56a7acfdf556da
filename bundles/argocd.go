package bundles

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// argocd is a folder of objects, and what has Argo CD apply it.
type argocd struct{}

var _ Format = argocd{}

func (argocd) Name() string { return "argocd" }
func (argocd) Doc() string {
	return "a folder of objects with an Application and AppProjects, for Argo CD"
}

// The folders of the bundle: what Argo CD applies, and what an admin applies to Argo CD.
const (
	objectsFolder = "objects"
	argocdFolder  = "argocd"
)

// ArgoCD is where Argo CD finds the bundle, and what it does with it. What is empty has a default.
type ArgoCD struct {
	RepoURL   string `json:"repoURL"`
	Path      string `json:"path"`     // of the folder that holds the bundle of each environment
	Revision  string `json:"revision"` // HEAD by default, and the bundle's tag of an artifact
	Namespace string `json:"namespace"`
	Cluster   string `json:"cluster"`   // an address, or a name; the cluster that Argo CD runs in by default
	Automated *bool  `json:"automated"` // true by default

	// Clusters are several that get the same, by names of the document's; instead of Cluster.
	Clusters map[string]ArgoCDCluster `json:"clusters"`
}

// ArgoCDCluster is one of several clusters.
type ArgoCDCluster struct {
	Cluster  string `json:"cluster"`  // an address, or a name
	Revision string `json:"revision"` // that of all by default
}

// Render writes objects below objects/, as kustomize has them, and below argocd/ what is Argo CD's own.
func (argocd) Render(ctx context.Context, b Bundle) (Tree, error) {
	if b.Delivery.ArgoCD == nil {
		return Tree{}, &MissingError{"spec.delivery.argocd", "the format argocd has to know where the bundle will be: want repoURL"}
	}
	files, err := objectFiles(ctx, b.Objects, objectsFolder)
	if err != nil {
		return Tree{}, err
	}
	for name, fields := range b.argocdObjects() {
		text, err := yaml.Marshal(fields)
		if err != nil {
			return Tree{}, fmt.Errorf("writing %s: %w", name, err)
		}
		files = append(files, File{Path: path.Join(argocdFolder, name+".yaml"), Content: Text(text)})
	}
	name, text, err := b.settings()
	if err != nil {
		return Tree{}, fmt.Errorf("writing %s: %w", name, err)
	}
	return NewTree(append(files, File{Path: path.Join(argocdFolder, name), Content: Text(text)})...)
}

// argocdObjects are those of Argo CD's own kinds, by the name of their file.
func (b Bundle) argocdObjects() map[string]any {
	objects := map[string]any{"appproject-" + b.name(): b.project()}
	if len(b.Delivery.ArgoCD.Clusters) > 0 {
		objects["applicationset-"+b.name()] = b.clusterSet()
	} else {
		objects["application-"+b.name()] = b.application()
	}
	for name, tenant := range b.Delivery.Tenants {
		objects["appproject-"+b.teamName(name)] = b.tenantProject(name)
		if tenant.Applications != nil {
			objects["applicationset-"+b.teamName(name)] = b.tenantSet(name)
		}
	}
	return objects
}

// argocdObject is an object of Argo CD's.
type argocdObject struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   argocdMetadata `json:"metadata"`
	Spec       any            `json:"spec"`
}

type argocdMetadata struct {
	Name        string            `json:"name"`
	Namespace   string            `json:"namespace"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// argocdObject puts metadata on what is said of an object.
func (b Bundle) argocdObject(kind, name string, spec any) argocdObject {
	labels := map[string]string{"app.kubernetes.io/managed-by": "trainyard", "trainyard.dev/platform": b.Platform}
	return argocdObject{
		APIVersion: "argoproj.io/v1alpha1", Kind: kind,
		Metadata: argocdMetadata{Name: name, Namespace: b.argocdNamespace(), Labels: labels},
		Spec:     spec,
	}
}

func (b Bundle) argocdNamespace() string {
	if b.Delivery.OpenShift {
		return cmp.Or(b.Delivery.ArgoCD.Namespace, "openshift-gitops")
	}
	return cmp.Or(b.Delivery.ArgoCD.Namespace, "argocd")
}

// destination is a cluster, and a namespace of it.
type destination struct {
	Server    string `json:"server,omitempty"`
	Name      string `json:"name,omitempty"`
	Namespace string `json:"namespace"`
}

// destinationIn is a namespace of a cluster, which is an address or a name.
func destinationIn(cluster, namespace string) destination {
	if strings.HasPrefix(cluster, "https://") {
		return destination{Server: cluster, Namespace: namespace}
	}
	return destination{Name: cluster, Namespace: namespace}
}

// destinations are a namespace of the cluster, or of each.
func (b Bundle) destinations(namespace string) []destination {
	a := b.Delivery.ArgoCD
	if len(a.Clusters) == 0 {
		return []destination{destinationIn(cmp.Or(a.Cluster, "https://kubernetes.default.svc"), namespace)}
	}
	var all []destination
	for _, name := range slices.Sorted(maps.Keys(a.Clusters)) {
		all = append(all, destinationIn(a.Clusters[name].Cluster, namespace))
	}
	return all
}
