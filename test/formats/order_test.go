package formats

import (
	"cmp"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/trainyard/trainyard/api/v1alpha1"
	"github.com/trainyard/trainyard/bundles"
)

// Annotations of Argo CD.
const (
	waveAnnotation        = "argocd.argoproj.io/sync-wave"
	syncOptionsAnnotation = "argocd.argoproj.io/sync-options"
)

// formatOrders contains functions that sort objects in the order in which the consumer of a format, such as Argo CD,
// applies them. formatOrders contains no function for Helm, because Helm chooses its own order. The tests in test/helm
// check that a chart creates the RoleBindings of a tenant only if the admission policy already exists.
var formatOrders = map[string]func(t *testing.T, objects []unstructured.Unstructured){
	"plain":       asListed,
	"kustomize":   asListed,
	"olm-payload": asListed,
	"argocd":      byWave,
	"oci":         byWave,
}

func asListed(*testing.T, []unstructured.Unstructured) {}

// byWave sorts objects by their sync waves, as Argo CD does. Within a wave, Argo CD also sorts objects by kind, but the
// tests do not depend on the order within a wave.
func byWave(t *testing.T, objects []unstructured.Unstructured) {
	t.Helper()
	wave := func(o unstructured.Unstructured) int {
		number, err := strconv.Atoi(o.GetAnnotations()[waveAnnotation])
		if err != nil {
			t.Fatalf("the sync wave of %s %s: %v", o.GetKind(), o.GetName(), err)
		}
		return number
	}
	slices.SortStableFunc(objects, func(a, b unstructured.Unstructured) int { return cmp.Compare(wave(a), wave(b)) })
}

// TestRightsComeLast checks that RoleBindings and ClusterRoleBindings, which grant rights, are applied after all other
// objects. The test checks every format except Helm.
func TestRightsComeLast(t *testing.T) {
	for name, file := range findExamples(t) {
		for environment, bundle := range generateBundles(t, read(t, file)) {
			for _, format := range bundles.Formats() {
				order, ok := formatOrders[format.Name()]
				if !ok && format.Name() != "helm" {
					t.Fatalf("the order of the format %s is unknown: add it", format.Name())
				}
				if ok && hasRequiredFields(t, format, bundle) {
					t.Run(path.Join(name, format.Name(), environment), func(t *testing.T) {
						all := readApplied(t, format, bundle)
						order(t, all)
						expectRightsLast(t, all)
					})
				}
			}
		}
	}
}

func readApplied(t *testing.T, format bundles.Format, bundle bundles.Bundle) (all []unstructured.Unstructured) {
	t.Helper()
	tree := renderBundle(t, format, bundle)
	dir := filepath.Join(t.TempDir(), "bundle")
	if _, err := tree.WriteDir(dir, false); err != nil {
		t.Fatal(err)
	}
	for document := range splitDocuments(t, formatReaders[format.Name()](t, dir)) {
		var o unstructured.Unstructured
		if err := yaml.Unmarshal(document, &o.Object); err != nil {
			t.Fatal(err)
		}
		all = append(all, o)
	}
	return all
}

// expectRightsLast checks that all RoleBindings and ClusterRoleBindings come after all objects of other kinds.
// expectRightsLast also checks the label v1alpha1.AccessLabel. All RoleBindings and ClusterRoleBindings must have this
// label, and no other object may have the label.
func expectRightsLast(t *testing.T, all []unstructured.Unstructured) {
	t.Helper()
	granted := ""
	for _, o := range all {
		grants := strings.HasSuffix(o.GetKind(), "RoleBinding")
		if grants {
			granted = o.GetKind() + " " + o.GetName()
		} else if granted != "" {
			t.Errorf("%s %s is applied after %s", o.GetKind(), o.GetName(), granted)
		}
		if labelled := o.GetLabels()[v1alpha1.AccessLabel] == "true"; labelled != grants {
			t.Errorf("%s %s has the label %s: %t, want %t", o.GetKind(), o.GetName(), v1alpha1.AccessLabel, labelled, grants)
		}
	}
}

// TestRightsArePrunedFirst checks that Argo CD deletes the RoleBindings of a removed tenant before the tenant's other
// objects. The sync option PruneLast delays the deletion of an object, and the sync option Prune=false prevents the
// deletion. RoleBindings and ClusterRoleBindings must have neither option. Every other object must have at least one of
// these two options.
func TestRightsArePrunedFirst(t *testing.T) {
	for name, file := range findExamples(t) {
		for environment, bundle := range generateBundles(t, read(t, file)) {
			argocd := bundles.Formats()[slices.IndexFunc(bundles.Formats(), func(f bundles.Format) bool { return f.Name() == "argocd" })]
			if !hasRequiredFields(t, argocd, bundle) {
				continue
			}
			t.Run(path.Join(name, environment), func(t *testing.T) {
				for _, o := range readApplied(t, argocd, bundle) {
					options := strings.Split(o.GetAnnotations()[syncOptionsAnnotation], ",")
					later := slices.Contains(options, "PruneLast=true") || slices.Contains(options, "Prune=false")
					if grants := strings.HasSuffix(o.GetKind(), "RoleBinding"); grants == later {
						t.Errorf("%s %s has the sync options %v", o.GetKind(), o.GetName(), options)
					}
				}
				for _, file := range renderBundle(t, argocd, bundle).Files() {
					if text := string(file.Content.Bytes()); strings.HasPrefix(file.Path, "argocd/application") && strings.Contains(text, "PruneLast") {
						t.Errorf("%s applies PruneLast to all objects", file.Path)
					}
				}
			})
		}
	}
}
