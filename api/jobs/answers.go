package jobs

import (
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Passing reports whether an error may be another one, or none, when the API server is asked
// again: it did not answer, or was not able to.
func Passing(err error) bool {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return true
	}
	code := answer.Status().Code
	return code == 429 || code >= 500
}

// Denied reports whether the API server does not want what it understood: who asks has not the
// right, or a policy is against it.
func Denied(err error) bool {
	// Policies of the API server's own say Invalid, unless they say otherwise.
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) ||
		apierrors.IsInvalid(err) && strings.Contains(err.Error(), " denied request: ")
}
