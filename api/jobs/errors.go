package jobs

import (
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// IsRetryable reports whether the same request can succeed later: the API server did not respond, or had an internal
// error.
func IsRetryable(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return true
	}
	code := status.Status().Code
	return code == 429 || code >= 500
}

// IsDenied reports whether the API server denied a valid request: the user lacks a permission, or a policy forbids
// it.
func IsDenied(err error) bool {
	// By default, a ValidatingAdmissionPolicy denies with the reason Invalid.
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) ||
		apierrors.IsInvalid(err) && strings.Contains(err.Error(), " denied request: ")
}
