package upstream

import (
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kueuev1beta1 "sigs.k8s.io/kueue/apis/kueue/v1beta1"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// queueTypes are those of what jobs wait for, in both versions of Kueue's API.
var queueTypes = map[schema.GroupVersionKind]func() any{
	kueuev1beta1.GroupVersion.WithKind("ClusterQueue"):          func() any { return new(kueuev1beta1.ClusterQueue) },
	kueuev1beta1.GroupVersion.WithKind("LocalQueue"):            func() any { return new(kueuev1beta1.LocalQueue) },
	kueuev1beta1.GroupVersion.WithKind("ResourceFlavor"):        func() any { return new(kueuev1beta1.ResourceFlavor) },
	kueuev1beta1.GroupVersion.WithKind("Topology"):              func() any { return new(kueuev1beta1.Topology) },
	kueuev1beta1.GroupVersion.WithKind("WorkloadPriorityClass"): func() any { return new(kueuev1beta1.WorkloadPriorityClass) },
	kueuev1beta2.GroupVersion.WithKind("ClusterQueue"):          func() any { return new(kueuev1beta2.ClusterQueue) },
	kueuev1beta2.GroupVersion.WithKind("LocalQueue"):            func() any { return new(kueuev1beta2.LocalQueue) },
	kueuev1beta2.GroupVersion.WithKind("ResourceFlavor"):        func() any { return new(kueuev1beta2.ResourceFlavor) },
	kueuev1beta2.GroupVersion.WithKind("Topology"):              func() any { return new(kueuev1beta2.Topology) },
	kueuev1beta2.GroupVersion.WithKind("WorkloadPriorityClass"): func() any { return new(kueuev1beta2.WorkloadPriorityClass) },
	schedulingv1.SchemeGroupVersion.WithKind("PriorityClass"):   func() any { return new(schedulingv1.PriorityClass) },
}
