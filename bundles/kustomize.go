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
func (kustomize) Render(ctx context.Context, b Bundle) (Tree, error) {
	files, err := objectFiles(ctx, b.Objects, "")
	if err != nil {
		return Tree{}, err
	}
	k := kustomization{
		APIVersion:  "kustomize.config.k8s.io/v1beta1",
		Kind:        "Kustomization",
		Resources:   []string{},
		SortOptions: sortOptions{Order: "fifo"},
	}
	for _, file := range files {
		k.Resources = append(k.Resources, file.Path)
	}
	text, err := yaml.Marshal(k)
	if err != nil {
		return Tree{}, fmt.Errorf("writing kustomization.yaml: %w", err)
	}
	return NewTree(append(files, File{Path: "kustomization.yaml", Content: Text(text)})...)
}

// objectFiles writes each object into a file of its own, below a folder.
func objectFiles(ctx context.Context, set object.Set, folder string) ([]File, error) {
	r := newRenderer()
	var files []File
	for o := range set.All() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		files = append(files, File{Path: path.Join(folder, fileOf(o)), Content: r.text(o)})
	}
	return files, nil
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
