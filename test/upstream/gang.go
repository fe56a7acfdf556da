package upstream

import (
	"os"
	"path/filepath"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// PodGroups returns two CRDs, each of which defines a kind PodGroup. Trainer's plugins for gang scheduling create objects
// of these kinds. The CRD for coscheduling comes from scheduler-plugins. No Go module contains the CRD of Volcano, so
// PodGroups returns a replacement that accepts any object.
func (t Toolbox) PodGroups() (Manifests, error) {
	var read Manifests
	dir, err := t.Module("sigs.k8s.io/scheduler-plugins")
	if err != nil {
		return read, err
	}
	text, err := os.ReadFile(filepath.Join(dir, "config", "crd", "bases", "scheduling.x-k8s.io_podgroups.yaml"))
	if err != nil {
		return read, err
	}
	if err := EachDocument(text, read.add); err != nil {
		return read, err
	}
	read.CRDs = append(read.CRDs, volcanoStub())
	return read, nil
}

func volcanoStub() *apiextensionsv1.CustomResourceDefinition {
	anything := &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: ptr.To(true)}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "podgroups.scheduling.volcano.sh"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "scheduling.volcano.sh",
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "podgroups", Singular: "podgroup", Kind: "PodGroup", ListKind: "PodGroupList"},
			Scope: apiextensionsv1.NamespaceScoped,
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1beta1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: anything},
			}},
		},
	}
}
