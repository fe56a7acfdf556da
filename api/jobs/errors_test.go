package jobs_test

import (
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/trainyard/trainyard/api/jobs"
	"github.com/trainyard/trainyard/api/v1alpha1"
)

func TestErrors(t *testing.T) {
	kind := schema.GroupResource{Group: v1alpha1.TrainerGroup, Resource: "trainjobs"}
	for name, tc := range map[string]struct {
		err               error
		retryable, denied bool
	}{
		"no connection":     {errors.New("connection refused"), true, false},
		"too many requests": {apierrors.NewTooManyRequests("wait", 1), true, false},
		"an internal error": {apierrors.NewInternalError(errors.New("etcd")), true, false},
		"not found":         {apierrors.NewNotFound(kind, "a"), false, false},
		"forbidden":         {apierrors.NewForbidden(kind, "a", errors.New("no permission")), false, true},
		"unauthorized":      {apierrors.NewUnauthorized("who?"), false, true},
		"a policy":          {invalidError(`trainjobs.trainer.kubeflow.org "a" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no jobs here`), false, true},
		"wrong fields":      {invalidError(`TrainJob "a" is invalid: spec.trainer: Invalid value: 3`), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			err := fmt.Errorf("creating: %w", tc.err)
			if retryable, denied := jobs.IsRetryable(err), jobs.IsDenied(err); retryable != tc.retryable || denied != tc.denied {
				t.Errorf("retryable %v, denied %v for the error %v", retryable, denied, err)
			}
		})
	}
}

// invalidError returns the error with code 422 that the API server returns for an invalid object.
func invalidError(text string) error {
	err := apierrors.NewInvalid(schema.GroupKind{}, "a", nil)
	err.ErrStatus.Message = text
	return err
}
