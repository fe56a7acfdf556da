package trainjobsource

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestOnlyLastingRefusalsAreDenials checks that isDenial returns true for permanent errors, and false for temporary
// errors, such as an exceeded quota. The error texts about quotas are copied from the API server
// (k8s.io/apiserver/pkg/admission/plugin/resourcequota).
func TestOnlyLastingRefusalsAreDenials(t *testing.T) {
	trainJobs := schema.GroupResource{Group: trainer.SchemeGroupVersion.Group, Resource: "trainjobs"}
	forbidden := func(text string) error { return apierrors.NewForbidden(trainJobs, "bert", errors.New(text)) }
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"an exceeded quota":            {forbidden("exceeded quota: tenant, requested: count/trainjobs.trainer.kubeflow.org=1, used: 2, limited: 2"), false},
		"a quota without a status":     {forbidden("status unknown for quota: tenant, resources: count/trainjobs.trainer.kubeflow.org"), false},
		"a job with quota in its name": {fmt.Errorf("creating TrainJob quota: %w", forbidden("node-limit")), true},
		"a quoted text about a quota":  {forbidden(`label "exceeded quota: x" is forbidden: exceeded quota: x`), true},
		"missing rights":               {forbidden(`User "a" cannot patch resource "trainjobs"`), true},
		"an invalid field":             {apierrors.NewInvalid(trainer.SchemeGroupVersion.WithKind("TrainJob").GroupKind(), "bert", nil), true},
		"an unknown field":             {apierrors.NewBadRequest(`strict decoding error: unknown field "spec.a"`), true},
		"a webhook that is missing":    {apierrors.NewInternalError(errors.New("failed calling webhook")), false},
	} {
		if got := isDenial(fmt.Errorf("applying TrainJob bert: %w", test.err)); got != test.want {
			t.Errorf("%s: isDenial() = %t, want %t", name, got, test.want)
		}
	}
}

// TestErrorsIn checks that errorsIn finds all errors that nested calls of errors.Join have combined. For example, the
// requests for two jobs can fail, and then the update of the record (the stored list of runs) can fail too. A first
// call of errors.Join combines the errors of the two requests. A second call then combines the result of the first call
// with the error of the update.
func TestErrorsIn(t *testing.T) {
	a, b, c := errors.New("a"), errors.New("b"), errors.New("c")
	if got := errorsIn(errors.Join(errors.Join(a, b), c)); !slices.Equal(got, []error{a, b, c}) {
		t.Errorf("errorsIn() = %v, want a, b and c", got)
	}
}
