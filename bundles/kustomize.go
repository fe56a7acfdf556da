package bundles

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard/generator/object"
)

// kustomize is a kustomization with one file per object.
type kustomize struct{}

var _ Format = kustomize{}

func (kustomize) Name() string { return "kustomize" }
func (kustomize) Doc() string {
	return "a kustomization, for Argo CD, kubectl apply -k and overlays"
}

// kustomization is the part of kustomize's own file that we write.
type kustomization struct {
	APIVersion  string      `json:"apiVersion"`
	Kind        string      `json:"kind"`
	Resources   []string    `json:"resources"`
	SortOptions sortOptions `json:"sortOptions"`
}

// sortOptions keeps our order: by default kustomize sorts by kind.
type sortOptions struct {
	Order string `json:"order"`
}

// Render writes objects of the whole cluster below cluster/, and those of a
// namespace below namespaces/NAME/, with what the whole cluster has about its tenant.
func (kustomize) Render(ctx context.Context, set object.Set) (Tree, error) {
	k := kustomization{
		APIVersion:  "kustomize.config.k8s.io/v1beta1",
		Kind:        "Kustomization",
		Resources:   []string{},
		SortOptions: sortOptions{Order: "fifo"},
	}
	r := newRenderer()
	var files []File
	for o := range set.All() {
		if err := ctx.Err(); err != nil {
			return Tree{}, err
		}
		file := File{Path: fileOf(o), Content: r.text(o)}
		files = append(files, file)
		k.Resources = append(k.Resources, file.Path)
	}
	text, err := yaml.Marshal(k)
	if err != nil {
		return Tree{}, fmt.Errorf("writing kustomization.yaml: %w", err)
	}
	return NewTree(append(files, File{Path: "kustomization.yaml", Content: Text(text)})...)
}

// fileOf is the path of an object's file, such as cluster/clustertrainingruntime-a.yaml. What is
// about a tenant lies with what is in its namespace.
func fileOf(o object.Object) string {
	folder := "cluster"
	if tenant := cmp.Or(o.Label("trainyard.dev/tenant"), o.ID().Namespace); tenant != "" {
		folder = path.Join("namespaces", tenant)
	}
	return path.Join(folder, fmt.Sprintf("%s-%s.yaml", strings.ToLower(o.ID().Kind), o.ID().Name))
}
