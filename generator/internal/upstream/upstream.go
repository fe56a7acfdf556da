// Package upstream knows the types that upstream gives the kinds of objects we emit. Objects are
// decoded into them to be verified, and never made of them.
package upstream

import (
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	securityv1 "github.com/openshift/api/security/v1"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var types = map[schema.GroupVersionKind]func() any{
	trainer.GroupVersion.WithKind("ClusterTrainingRuntime"):                     func() any { return new(trainer.ClusterTrainingRuntime) },
	trainer.GroupVersion.WithKind("TrainingRuntime"):                            func() any { return new(trainer.TrainingRuntime) },
	corev1.SchemeGroupVersion.WithKind("LimitRange"):                            func() any { return new(corev1.LimitRange) },
	corev1.SchemeGroupVersion.WithKind("Namespace"):                             func() any { return new(corev1.Namespace) },
	corev1.SchemeGroupVersion.WithKind("ResourceQuota"):                         func() any { return new(corev1.ResourceQuota) },
	corev1.SchemeGroupVersion.WithKind("ServiceAccount"):                        func() any { return new(corev1.ServiceAccount) },
	networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"):                   func() any { return new(networkingv1.NetworkPolicy) },
	rbacv1.SchemeGroupVersion.WithKind("ClusterRole"):                           func() any { return new(rbacv1.ClusterRole) },
	rbacv1.SchemeGroupVersion.WithKind("ClusterRoleBinding"):                    func() any { return new(rbacv1.ClusterRoleBinding) },
	rbacv1.SchemeGroupVersion.WithKind("Role"):                                  func() any { return new(rbacv1.Role) },
	rbacv1.SchemeGroupVersion.WithKind("RoleBinding"):                           func() any { return new(rbacv1.RoleBinding) },
	securityv1.GroupVersion.WithKind("SecurityContextConstraints"):              func() any { return new(securityv1.SecurityContextConstraints) },
	admissionv1.SchemeGroupVersion.WithKind("ValidatingAdmissionPolicy"):        func() any { return new(admissionv1.ValidatingAdmissionPolicy) },
	admissionv1.SchemeGroupVersion.WithKind("ValidatingAdmissionPolicyBinding"): func() any { return new(admissionv1.ValidatingAdmissionPolicyBinding) },
	monitoringv1.SchemeGroupVersion.WithKind("PrometheusRule"):                  func() any { return new(monitoringv1.PrometheusRule) },
	corev1.SchemeGroupVersion.WithKind("ConfigMap"):                             func() any { return new(corev1.ConfigMap) },
}

var all = []map[schema.GroupVersionKind]func() any{types, queueTypes, dashboardTypes}

// Whole tells whether New has all of a kind's type, and not the parts of it that we use.
func Whole(kind schema.GroupVersionKind) bool {
	_, partly := dashboardTypes[kind]
	return !partly && New(kind) != nil
}

// New is an empty value of the type that upstream gives a kind; nil for one that we do not emit.
func New(kind schema.GroupVersionKind) any {
	for _, known := range all {
		if empty, ok := known[kind]; ok {
			return empty()
		}
	}
	return nil
}
