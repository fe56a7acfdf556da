package jobs

import (
	"context"
	"fmt"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Permission is the right to use a verb on a resource in a namespace, such as "get" on "pods".
type Permission struct{ Verb, Group, Resource, Subresource string }

// String returns the permission as arguments of "kubectl auth can-i", for example "get pods/log".
func (p Permission) String() string {
	if p.Subresource != "" {
		return p.Verb + " " + p.Resource + "/" + p.Subresource
	}
	return p.Verb + " " + p.Resource
}

// FollowPermissions lists the permissions that a user needs to create a TrainJob, follow its pods, and delete the
// TrainJob.
var FollowPermissions = []Permission{
	{Verb: "create", Group: trainer.GroupVersion.Group, Resource: "trainjobs"},
	{Verb: "get", Group: trainer.GroupVersion.Group, Resource: "trainjobs"},
	{Verb: "delete", Group: trainer.GroupVersion.Group, Resource: "trainjobs"},
	{Verb: "list", Resource: "pods"},
	{Verb: "get", Resource: "pods", Subresource: "log"},
	{Verb: "list", Resource: "events"},
}

// RequireAccess returns a Forbidden error for the first permission that the user lacks in a namespace. If the
// user may not create SelfSubjectAccessReviews, RequireAccess cannot check the permissions, and returns nil.
func (j Jobs) RequireAccess(ctx context.Context, namespace string, permissions ...Permission) error {
	for _, p := range permissions {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: namespace, Verb: p.Verb, Group: p.Group, Resource: p.Resource, Subresource: p.Subresource,
			},
		}}
		err := j.authorization.Post().Resource("selfsubjectaccessreviews").Body(review).Do(ctx).Into(review)
		if err == nil && !review.Status.Allowed {
			missing := fmt.Errorf("no permission to %s in namespace %s", p, namespace)
			return apierrors.NewForbidden(schema.GroupResource{Group: p.Group, Resource: p.Resource}, "", missing)
		}
		if err != nil && !apierrors.IsForbidden(err) {
			return fmt.Errorf("checking the permission to %s: %w", p, err)
		}
	}
	return nil
}
