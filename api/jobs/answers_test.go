package jobs_test

import (
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/trainyard/trainyard/api/jobs"
)

func TestAnswersAreToldApart(t *testing.T) {
	kind := schema.GroupResource{Group: "trainer.kubeflow.org", Resource: "trainjobs"}
	for name, tc := range map[string]struct {
		err             error
		passing, denied bool
	}{
		"no connection":        {errors.New("connection refused"), true, false},
		"too many requests":    {apierrors.NewTooManyRequests("wait", 1), true, false},
		"the server's trouble": {apierrors.NewInternalError(errors.New("etcd")), true, false},
		"not found":            {apierrors.NewNotFound(kind, "a"), false, false},
		"no right":             {apierrors.NewForbidden(kind, "a", errors.New("no right")), false, true},
		"nobody":               {apierrors.NewUnauthorized("who?"), false, true},
		"a policy":             {refusedBy(`trainjobs.trainer.kubeflow.org "a" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no jobs here`), false, true},
		"wrong fields":         {refusedBy(`TrainJob "a" is invalid: spec.trainer: Invalid value: 3`), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			err := fmt.Errorf("creating: %w", tc.err)
			if passing, denied := jobs.Passing(err), jobs.Denied(err); passing != tc.passing || denied != tc.denied {
				t.Errorf("passing %v, denied %v of %v", passing, denied, err)
			}
		})
	}
}

// refusedBy is an answer with code 422 and a text.
func refusedBy(text string) error {
	err := apierrors.NewInvalid(schema.GroupKind{}, "a", nil)
	err.ErrStatus.Message = text
	return err
}
