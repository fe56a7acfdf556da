package controlplane_test

import (
	"context"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/generator"
	"github.com/trainyard/trainyard/test/controlplane"
)

// onePlatform is a platform with one tenant, in which tests replace the text NAME with the name of a
// platform.
const onePlatform = `
apiVersion: trainyard.dev/v1alpha1
kind: Platform
metadata: {name: NAME}
spec:
  runtimes:
    NAME-mpi: {from: openmpi-cpu, image: quay.io/acme/openmpi:4.1}
  tenants:
    NAME-team: {runtimes: [NAME-mpi], editors: {groups: [NAME-editors]}, viewers: {groups: [NAME-viewers]}}
`

// TestPlatformsShareACluster applies two platforms with different field managers. Neither platform may take
// ownership of fields that belong to the other platform. When one platform is deleted, all objects that the
// other platform needs must remain.
func TestPlatformsShareACluster(t *testing.T) {
	cp := controlplane.Start(t)
	north := platformNamed(t, "north")
	createNamespaces(t, cp, north)
	apply(t, cp, north...)
	south := platformNamed(t, "south")
	createNamespaces(t, cp, south)
	for _, obj := range south {
		u := obj.(*unstructured.Unstructured).DeepCopy()
		if err := cp.Client().Apply(t.Context(), client.ApplyConfigurationFromUnstructured(u), client.FieldOwner("south")); err != nil {
			t.Errorf("applying %s %s of the second platform: %v", u.GetKind(), u.GetName(), err)
		}
	}
	t.Cleanup(func() { removePlatform(t, cp, south) })
	removePlatform(t, cp, north)
	for _, obj := range south {
		live := obj.DeepCopyObject().(client.Object)
		if err := cp.Client().Get(t.Context(), client.ObjectKeyFromObject(obj), live); err != nil {
			t.Errorf("after the first platform was deleted: %v", err)
		}
	}
}

func platformNamed(t *testing.T, name string) []client.Object {
	t.Helper()
	text := strings.ReplaceAll(onePlatform, "NAME", name)
	return generateObjects(t, generator.Input{Name: name + ".yaml", Text: []byte(text)})
}

func removePlatform(t *testing.T, cp *controlplane.ControlPlane, objs []client.Object) {
	t.Helper()
	for _, obj := range objs {
		if isKept(obj) {
			continue
		}
		if err := cp.Client().Delete(context.Background(), obj); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	}
}
