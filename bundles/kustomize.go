package bundles

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/generator/object"
)

// kustomize is the format "kustomize", in which a bundle is a kustomization with one file for each
// object.
type kustomize struct{}

var _ Format = kustomize{}

func (kustomize) Name() string { return "kustomize" }
func (kustomize) Doc() string {
	return "a kustomization, for Argo CD, kubectl apply -k and overlays"
}

// Render returns a kustomization. All objects of a tenant, even cluster-scoped objects, are in the folder
// namespaces/TENANT/. Other objects are in namespaces/NAMESPACE/, or in cluster/ if they are cluster-scoped.
func (kustomize) Render(ctx context.Context, b Bundle) (Tree, error) {
	files, err := objectFiles(ctx, b.Objects, "")
	if err != nil {
		return Tree{}, err
	}
	k := types.Kustomization{
		TypeMeta:    types.TypeMeta{APIVersion: types.KustomizationVersion, Kind: types.KustomizationKind},
		SortOptions: &types.SortOptions{Order: types.FIFOSortOrder}, // do not sort by kind
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

func objectFiles(ctx context.Context, set object.Set, folder string) ([]File, error) {
	r := newRenderer()
	var files []File
	for o := range set.All() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		files = append(files, File{Path: path.Join(folder, objectFile(o)), Content: r.text(o)})
	}
	return files, nil
}

// objectFile returns the path of an object's file, such as cluster/clustertrainingruntime-a.yaml.
func objectFile(o object.Object) string {
	folder := "cluster"
	if tenant := cmp.Or(o.Label(v1alpha1.TenantLabel), o.ID().Namespace); tenant != "" {
		folder = path.Join("namespaces", tenant)
	}
	return path.Join(folder, fmt.Sprintf("%s-%s.yaml", strings.ToLower(o.ID().Kind), o.ID().Name))
}
