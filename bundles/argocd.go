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

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/generator/object"
)

// argocd is the format for Argo CD. A bundle in this format contains the generated objects, and the Argo CD
// resources that apply these objects.
type argocd struct{}

var _ Format = argocd{}

func (argocd) Name() string { return "argocd" }
func (argocd) Doc() string {
	return "a folder of objects with an Application and AppProjects, for Argo CD"
}

const (
	objectsFolder = "objects" // Argo CD applies these files
	argocdFolder  = "argocd"  // an admin adds these files to Argo CD

	// systemNamespace is the namespace for objects that need a namespace but belong to no tenant.
	systemNamespace = v1alpha1.SystemNamespace
)

// Render returns a tree with the objects in objects/, and the resources and settings of Argo CD in argocd/.
// The files in objects/ have the same names as in the format "kustomize".
func (argocd) Render(ctx context.Context, b Bundle) (Tree, error) {
	if b.Delivery.ArgoCD == nil {
		return Tree{}, &MissingError{"spec.delivery.argocd", "the format argocd needs the address at which Argo CD reads the bundle: set repoURL"}
	}
	files, err := objectFiles(ctx, b.Objects, objectsFolder)
	if err != nil {
		return Tree{}, err
	}
	a := argocdWriter{Bundle: b, ArgoCD: *b.Delivery.ArgoCD}
	a.Namespace = cmp.Or(a.Namespace, defaultArgoCDNamespace[b.Delivery.Target.OpenShift])
	for name, resource := range a.buildResources() {
		text, err := yaml.Marshal(resource)
		if err != nil {
			return Tree{}, fmt.Errorf("writing %s: %w", name, err)
		}
		files = append(files, File{Path: path.Join(argocdFolder, name+".yaml"), Content: Text(text)})
	}
	return NewTree(files...)
}

// defaultArgoCDNamespace contains the usual namespaces of Argo CD on OpenShift (key true) and on all other clusters
// (key false).
var defaultArgoCDNamespace = map[bool]string{true: "openshift-gitops", false: "argocd"}

type argocdWriter struct {
	Bundle
	object.ArgoCD
}

// fields is a map with the fields of a Kubernetes resource, or of a mapping inside a resource.
type fields = map[string]any

// buildResources returns the Argo CD resources and settings of the bundle. The keys of the map are file names without
// extension.
func (a argocdWriter) buildResources() map[string]fields {
	all := map[string]fields{"appproject-" + a.uniqueName(): a.buildProject()}
	if len(a.Clusters) > 0 {
		all["applicationset-"+a.uniqueName()] = a.clusterSet()
	} else {
		all["application-"+a.uniqueName()] = a.buildApplication()
	}
	for name, tenant := range a.Delivery.Tenants {
		all["appproject-"+a.tenantName(name)] = a.tenantProject(name, tenant)
		if tenant.Applications != nil {
			all["applicationset-"+a.tenantName(name)] = a.tenantSet(name, tenant)
		}
	}
	for _, o := range a.Delivery.Access {
		all[strings.ToLower(fmt.Sprintf("%v-%v", o["kind"], mappingAt(o, "metadata")["name"]))] = o
	}
	if a.Delivery.Target.OpenShift {
		all["argocd"] = a.operatorSettings()
	} else {
		all["argocd-cm"] = a.configMap()
	}
	return all
}

func (a argocdWriter) resource(kind, name string, annotations map[string]string, spec fields) fields {
	metadata := fields{"name": name, "namespace": a.Namespace, "labels": a.labels()}
	if annotations != nil {
		metadata["annotations"] = annotations
	}
	return newObject("argoproj.io/v1alpha1", kind, metadata, fields{"spec": spec})
}

// newObject returns a Kubernetes object that a format needs in addition to the platform's objects, such as an
// Application of Argo CD.
func newObject(apiVersion, kind string, metadata, content fields) fields {
	o := fields{"apiVersion": apiVersion, "kind": kind, "metadata": metadata}
	maps.Copy(o, content)
	return o
}

func (a argocdWriter) labels() map[string]string {
	return map[string]string{v1alpha1.ManagedByLabel: "trainyard", v1alpha1.PlatformLabel: a.Platform}
}

// newDestination returns a destination for an Application or AppProject. The argument "cluster" is the https:// address of
// the cluster, or its name in Argo CD.
func newDestination(cluster, namespace string) fields {
	if strings.HasPrefix(cluster, "https://") {
		return fields{"server": cluster, "namespace": namespace}
	}
	return fields{"name": cluster, "namespace": namespace}
}

func (a argocdWriter) destinations(namespace string) []fields {
	if len(a.Clusters) == 0 {
		return []fields{newDestination(cmp.Or(a.Cluster, "https://kubernetes.default.svc"), namespace)}
	}
	var all []fields
	for _, name := range slices.Sorted(maps.Keys(a.Clusters)) {
		all = append(all, newDestination(a.Clusters[name].Cluster, namespace))
	}
	return all
}
