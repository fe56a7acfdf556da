// Package upstream lists a Go type for each kind of object that trainyard generates. Most Go types come from the
// modules of upstream projects. trainyard defines the Go types of its own kinds, and the incomplete types in
// partialTypes. CUE builds all objects. The verify stage then decodes the generated objects into the Go types of this
// package.
package upstream

import (
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	securityv1 "github.com/openshift/api/security/v1"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kueuev1beta1 "sigs.k8s.io/kueue/apis/kueue/v1beta1"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"github.com/trainyard/trainyard/api/v1alpha1"
)

type constructors map[schema.GroupVersionKind]func() any

func empty[T any]() any { return new(T) }

// completeTypes contains the Go types that upstream projects define in their modules, and trainyard's
// own Go types.
var completeTypes = constructors{
	trainer.GroupVersion.WithKind("ClusterTrainingRuntime"):                     empty[trainer.ClusterTrainingRuntime],
	trainer.GroupVersion.WithKind("TrainingRuntime"):                            empty[trainer.TrainingRuntime],
	corev1.SchemeGroupVersion.WithKind("ConfigMap"):                             empty[corev1.ConfigMap],
	corev1.SchemeGroupVersion.WithKind("LimitRange"):                            empty[corev1.LimitRange],
	corev1.SchemeGroupVersion.WithKind("Namespace"):                             empty[corev1.Namespace],
	corev1.SchemeGroupVersion.WithKind("ResourceQuota"):                         empty[corev1.ResourceQuota],
	corev1.SchemeGroupVersion.WithKind("ServiceAccount"):                        empty[corev1.ServiceAccount],
	networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"):                   empty[networkingv1.NetworkPolicy],
	rbacv1.SchemeGroupVersion.WithKind("ClusterRole"):                           empty[rbacv1.ClusterRole],
	rbacv1.SchemeGroupVersion.WithKind("ClusterRoleBinding"):                    empty[rbacv1.ClusterRoleBinding],
	rbacv1.SchemeGroupVersion.WithKind("Role"):                                  empty[rbacv1.Role],
	rbacv1.SchemeGroupVersion.WithKind("RoleBinding"):                           empty[rbacv1.RoleBinding],
	securityv1.GroupVersion.WithKind("SecurityContextConstraints"):              empty[securityv1.SecurityContextConstraints],
	admissionv1.SchemeGroupVersion.WithKind("ValidatingAdmissionPolicy"):        empty[admissionv1.ValidatingAdmissionPolicy],
	admissionv1.SchemeGroupVersion.WithKind("ValidatingAdmissionPolicyBinding"): empty[admissionv1.ValidatingAdmissionPolicyBinding],
	monitoringv1.SchemeGroupVersion.WithKind("PrometheusRule"):                  empty[monitoringv1.PrometheusRule],
	schedulingv1.SchemeGroupVersion.WithKind("PriorityClass"):                   empty[schedulingv1.PriorityClass],
	kueuev1beta1.GroupVersion.WithKind("ClusterQueue"):                          empty[kueuev1beta1.ClusterQueue],
	kueuev1beta1.GroupVersion.WithKind("LocalQueue"):                            empty[kueuev1beta1.LocalQueue],
	kueuev1beta1.GroupVersion.WithKind("ResourceFlavor"):                        empty[kueuev1beta1.ResourceFlavor],
	kueuev1beta1.GroupVersion.WithKind("Topology"):                              empty[kueuev1beta1.Topology],
	kueuev1beta1.GroupVersion.WithKind("WorkloadPriorityClass"):                 empty[kueuev1beta1.WorkloadPriorityClass],
	kueuev1beta2.GroupVersion.WithKind("ClusterQueue"):                          empty[kueuev1beta2.ClusterQueue],
	kueuev1beta2.GroupVersion.WithKind("LocalQueue"):                            empty[kueuev1beta2.LocalQueue],
	kueuev1beta2.GroupVersion.WithKind("ResourceFlavor"):                        empty[kueuev1beta2.ResourceFlavor],
	kueuev1beta2.GroupVersion.WithKind("Topology"):                              empty[kueuev1beta2.Topology],
	kueuev1beta2.GroupVersion.WithKind("WorkloadPriorityClass"):                 empty[kueuev1beta2.WorkloadPriorityClass],

	v1alpha1.GroupVersion.WithKind(v1alpha1.TrainJobSourceKind): empty[v1alpha1.TrainJobSource],
}

// IsComplete reports whether the Go type of a kind declares all fields of the kind's API. An incomplete type declares
// only the fields that trainyard uses.
func IsComplete(kind schema.GroupVersionKind) bool { return completeTypes[kind] != nil }

// New returns an empty object of a kind, or nil if trainyard does not generate objects of this kind.
func New(kind schema.GroupVersionKind) any {
	for _, types := range []constructors{completeTypes, partialTypes} {
		if construct := types[kind]; construct != nil {
			return construct()
		}
	}
	return nil
}
