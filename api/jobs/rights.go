package jobs

import (
	"context"
	"fmt"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Right is to do something with objects of a namespace.
type Right struct{ Verb, Group, Resource, Subresource string }

// String is the right in words: "get pods/log".
func (r Right) String() string {
	if r.Subresource != "" {
		return r.Verb + " " + r.Resource + "/" + r.Subresource
	}
	return r.Verb + " " + r.Resource
}

// FollowRights are what it takes to make a TrainJob, to watch what becomes of it, and to delete it.
var FollowRights = []Right{
	{Verb: "create", Group: trainer.GroupVersion.Group, Resource: "trainjobs"},
	{Verb: "get", Group: trainer.GroupVersion.Group, Resource: "trainjobs"},
	{Verb: "delete", Group: trainer.GroupVersion.Group, Resource: "trainjobs"},
	{Verb: "list", Resource: "pods"},
	{Verb: "get", Resource: "pods", Subresource: "log"},
	{Verb: "list", Resource: "events"},
}

// Demand fails as Forbidden for the first right that somebody has not in a namespace. Whoever may
// not even ask is believed to have it.
func (j Jobs) Demand(ctx context.Context, namespace string, rights ...Right) error {
	for _, r := range rights {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: namespace, Verb: r.Verb, Group: r.Group, Resource: r.Resource, Subresource: r.Subresource,
			},
		}}
		err := j.authorization.Post().Resource("selfsubjectaccessreviews").Body(review).Do(ctx).Into(review)
		if err == nil && !review.Status.Allowed {
			missing := fmt.Errorf("no right to %s in namespace %s", r, namespace)
			return apierrors.NewForbidden(schema.GroupResource{Group: r.Group, Resource: r.Resource}, "", missing)
		}
		if err != nil && !apierrors.IsForbidden(err) {
			return fmt.Errorf("asking for the right to %s: %w", r, err)
		}
	}
	return nil
}
