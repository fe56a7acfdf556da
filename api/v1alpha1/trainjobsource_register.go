package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the API group and version of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: Group, Version: "v1alpha1"}

// TrainJobSourceKind is the value of the field "kind" in every TrainJobSource object.
const TrainJobSourceKind = "TrainJobSource"

// AddToScheme registers the kinds of this package, so that clients can read and write objects of
// these kinds.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &TrainJobSource{}, &TrainJobSourceList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
