package trainjob

import (
	"context"
	"fmt"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trainyard/trainyard/api/jobs"
	"github.com/trainyard/trainyard/api/v1alpha1"
)

// isolate creates the NetworkPolicy that allows traffic between the pods of one TrainJob. The TrainJob needs its own
// policy as long as a generated policy isolates all TrainJobs of the namespace from each other. If the namespace no
// longer has such a generated policy, isolate deletes the policy of the TrainJob. If isolate kept the policy of the
// TrainJob, this policy could be the only NetworkPolicy for the pods. This policy would then deny all other traffic,
// including DNS. When a TrainJob is deleted, Kubernetes also deletes its NetworkPolicy.
func (c *Controller) isolate(ctx context.Context, snapshot jobs.Snapshot) error {
	job := &snapshot.Job
	if c.ReadOnly || !job.DeletionTimestamp.IsZero() {
		return nil
	}
	isolated, err := c.isolatesJobs(ctx, job.Namespace)
	if err != nil {
		return err
	}
	policy := networkPolicy(job)
	exists, err := c.ownsPolicy(ctx, job, policy.Name)
	if err != nil {
		return err
	}
	isOver := snapshot.Outcome().Condition != ""
	switch {
	case exists && !isolated:
		err = client.IgnoreNotFound(c.Client.Delete(ctx, policy))
	case isolated && !isOver && !exists:
		// If an earlier TrainJob had the same name, this request replaces the NetworkPolicy of the
		// earlier TrainJob.
		err = c.Client.Patch(ctx, policy, client.Apply, client.FieldOwner(fieldOwner), client.ForceOwnership) //nolint:staticcheck // no apply configuration is needed for one object
	}
	if err != nil {
		return fmt.Errorf("changing the NetworkPolicy of the TrainJob: %w", err)
	}
	return nil
}

// ownsPolicy reports whether the NetworkPolicy with the given name exists and belongs to this TrainJob, and not to an
// earlier TrainJob with the same name.
func (c *Controller) ownsPolicy(ctx context.Context, job *trainer.TrainJob, name string) (bool, error) {
	found := &metav1.PartialObjectMetadata{}
	found.SetGroupVersionKind(networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"))
	err := c.Client.Get(ctx, client.ObjectKey{Namespace: job.Namespace, Name: name}, found)
	if err := client.IgnoreNotFound(err); err != nil {
		return false, fmt.Errorf("reading the NetworkPolicy of the TrainJob: %w", err)
	}
	return err == nil && metav1.IsControlledBy(found, job), nil
}

// requestIsolated returns reconcile requests when a NetworkPolicy is created, changed or deleted. If the policy
// isolates all TrainJobs of a namespace from each other, requestIsolated returns one request for each of these
// TrainJobs. If the policy belongs to a single TrainJob, requestIsolated returns a request for this TrainJob, so
// that a deleted policy is created again.
func (c *Controller) requestIsolated(ctx context.Context, policy client.Object) []reconcile.Request {
	if owner := metav1.GetControllerOf(policy); owner != nil {
		return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: policy.GetNamespace(), Name: owner.Name}}}
	}
	all := &trainer.TrainJobList{}
	if policy.GetLabels()[v1alpha1.IsolationLabel] != isolationOfJobs || c.Client.List(ctx, all, client.InNamespace(policy.GetNamespace())) != nil {
		return nil // reading from a cache fails only while the program stops
	}
	var requests []reconcile.Request
	for i := range all.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&all.Items[i])})
	}
	return requests
}

// isolatesJobs reports whether a generated NetworkPolicy isolates the TrainJobs of a namespace from each other.
func (c *Controller) isolatesJobs(ctx context.Context, namespace string) (bool, error) {
	policies := &metav1.PartialObjectMetadataList{}
	policies.SetGroupVersionKind(networkingv1.SchemeGroupVersion.WithKind("NetworkPolicyList"))
	if err := c.Client.List(ctx, policies, client.InNamespace(namespace), client.MatchingLabels{v1alpha1.IsolationLabel: isolationOfJobs}); err != nil {
		return false, fmt.Errorf("listing NetworkPolicies: %w", err)
	}
	return len(policies.Items) > 0, nil
}

const (
	// isolationOfJobs is the value of v1alpha1.IsolationLabel on a policy that isolates all TrainJobs of a namespace from
	// each other.
	isolationOfJobs = "job"
	// isolationOfOne is the value of v1alpha1.IsolationLabel on the policy of a single TrainJob.
	isolationOfOne = "one-job"
)

// networkPolicy returns the policy that lets the pods of a TrainJob connect to each other, on all ports. The policy selects
// the pods by the label jobset-name. Tenants cannot forge this label, because JobSet sets it, and tenants cannot set labels
// of pods.
func networkPolicy(job *trainer.TrainJob) *networkingv1.NetworkPolicy {
	pods := metav1.LabelSelector{MatchLabels: map[string]string{jobs.JobSetLabel: job.Name}}
	peers := []networkingv1.NetworkPolicyPeer{{PodSelector: &pods}}
	owner := metav1.NewControllerRef(job, trainer.GroupVersion.WithKind(trainer.TrainJobKind))
	owner.BlockOwnerDeletion = nil // with true, the controller would need the right to change finalizers of TrainJobs
	return &networkingv1.NetworkPolicy{
		TypeMeta: metav1.TypeMeta{APIVersion: networkingv1.SchemeGroupVersion.String(), Kind: "NetworkPolicy"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: job.Namespace, Name: "trainyard.job." + job.Name, OwnerReferences: []metav1.OwnerReference{*owner},
			Labels: map[string]string{v1alpha1.ManagedByLabel: "trainyard-controller", v1alpha1.IsolationLabel: isolationOfOne},
		},
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: pods,
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
			Ingress:     []networkingv1.NetworkPolicyIngressRule{{From: peers}},
			Egress:      []networkingv1.NetworkPolicyEgressRule{{To: peers}},
		},
	}
}
